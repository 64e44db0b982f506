/** The server's part of backups: it fills a stage, and the caller makes a file from it. */
import { join } from "node:path";
import type { BackupMade } from "../../edge/admin/routes.ts";
import { systemClock } from "../../kernel/clock.ts";
import { linkOrCopy } from "../../persistence/backup.ts";
import { writeFileDurably } from "../../persistence/disk/durable-file.ts";
import { fileDisk } from "../../persistence/disk/file-disk.ts";
import { STORED_AREAS } from "../directory/data-directory.ts";
import { printStoredTokens, type StoredTokens, TOKENS_FILE } from "../tenants/stored-tokens.ts";
import type { AreaData, AreaName } from "./area.ts";
import { makeStage, removeOldStages, removeStage } from "./backup-stage.ts";

/** How long the caller may take to lock its stage. */
const YOUNG_MS = 60_000;
const TOKENS_MODE = 0o600;

export class Backups {
  readonly #dataDirectory: string;
  readonly #dataOf: (area: AreaName) => Pick<AreaData, "backUp">;
  /** When this process created each stage. */
  readonly #madeAtMs = new Map<string, number>();

  /** `dataDirectory` is absolute. `dataOf` throws while an area does not serve. */
  constructor(dataDirectory: string, dataOf: (area: AreaName) => Pick<AreaData, "backUp">) {
    this.#dataDirectory = dataDirectory;
    this.#dataOf = dataOf;
  }

  /**
   * Makes a stage of everything that was acknowledged before, durably. The caller ensures that tenants do not change
   * meanwhile.
   */
  async make(tokens: StoredTokens): Promise<BackupMade> {
    const dataDirectory = this.#dataDirectory;
    const areas = STORED_AREAS.map((name) => ({ name, data: this.#dataOf(name) }));
    await removeOldStages(dataDirectory, (name) => this.#isYoung(name));
    const name = makeStage(dataDirectory, STORED_AREAS);
    this.#madeAtMs.set(name, systemClock.monotonicMs());
    const directory = join(dataDirectory, name);
    try {
      const backedUp = await Promise.all(
        areas.map(async ({ name: area, data }) => ({ name: area, position: await data.backUp(join(directory, area)) })),
      );
      await writeFileDurably(join(directory, TOKENS_FILE), printStoredTokens(tokens), { mode: TOKENS_MODE });
      await linkOrCopy(fileDisk, join(dataDirectory, "format"), join(directory, "format"));
      await fileDisk.syncDirectory(directory);
      await fileDisk.syncDirectory(dataDirectory);
      this.#madeAtMs.set(name, systemClock.monotonicMs());
      return { directory: name, areas: backedUp };
    } catch (fault) {
      removeStage(dataDirectory, name);
      throw fault;
    }
  }

  #isYoung(name: string): boolean {
    const madeAtMs = this.#madeAtMs.get(name);
    return madeAtMs !== undefined && systemClock.monotonicMs() - madeAtMs < YOUNG_MS;
  }
}
