/** Every simulation finds the bugs that its table plants. */
import { bodyBugs } from "./bodies.ts";
import { keptRunBugs } from "./kept-runs.ts";
import { messagingBugs } from "./messaging.ts";
import { testPlantedBugs } from "./planted-bugs.ts";
import { storeBugs } from "./store.ts";
import { vectorBugs } from "./vector.ts";
import { filterBugs, metadataBugs } from "./vector-filters.ts";
import { graphBugs } from "./vector-graphs.ts";
import { historyBugs } from "./vector-histories.ts";
import { vectorKillBugs } from "./vector-kills.ts";
import { vectorProgramBugs } from "./vector-programs.ts";
import { recallBugs } from "./vector-recall.ts";
import { workflowBugs } from "./workflow.ts";

testPlantedBugs(storeBugs);
testPlantedBugs(vectorBugs);
testPlantedBugs(vectorProgramBugs);
testPlantedBugs(filterBugs);
testPlantedBugs(metadataBugs);
testPlantedBugs(graphBugs);
testPlantedBugs(historyBugs);
testPlantedBugs(recallBugs);
testPlantedBugs(vectorKillBugs);
testPlantedBugs(bodyBugs);
testPlantedBugs(messagingBugs);
testPlantedBugs(workflowBugs);
testPlantedBugs(keptRunBugs);
