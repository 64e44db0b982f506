import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stemOf } from "./porter2.ts";

/** Words with the stems of Snowball's own implementation (3.1.1). */
const pairs: readonly [string, string][] = [
  ["regular endings", "consign=consign consigned=consign consigning=consign consignment=consign consist=consist"],
  ["regular endings", "consistency=consist consistent=consist consistently=consist consolation=consol"],
  ["regular endings", "consolations=consol console=consol consoled=consol consoles=consol consonant=conson"],
  ["regular endings", "conspicuously=conspicu conspiracy=conspiraci conspirators=conspir constancy=constanc"],
  ["regular endings", "constrained=constrain connected=connect connecting=connect connection=connect"],
  [
    "regular endings",
    "connections=connect knackeries=knackeri kneaded=knead knightly=knight knitting=knit knives=knive",
  ],
  ["regular endings", "knocked=knock knockers=knocker relational=relat conditional=condit rational=ration"],
  ["regular endings", "valency=valenc hesitancy=hesit digitizer=digit conformably=conform radically=radic"],
  ["regular endings", "differently=differ vilely=vile analogously=analog vietnamization=vietnam predication=predic"],
  ["regular endings", "operator=oper feudalism=feudal decisiveness=decis hopefulness=hope callousness=callous"],
  ["regular endings", "formality=formal sensitivity=sensit sensibility=sensibl triplicate=triplic formative=format"],
  ["regular endings", "formalize=formal electricity=electr electrical=electr hopeful=hope goodness=good revival=reviv"],
  ["regular endings", "allowance=allow inference=infer airliner=airlin gyroscopic=gyroscop adjustable=adjust"],
  ["regular endings", "defensible=defens irritant=irrit replacement=replac adjustment=adjust dependent=depend"],
  ["regular endings", "adoption=adopt communism=communism activate=activ angularity=angular homologous=homolog"],
  ["regular endings", "effective=effect bowdlerize=bowdler probate=probat rate=rate cease=ceas controlling=control"],
  ["regular endings", "rolling=roll"],
  ["plurals", "caresses=caress ties=tie cries=cri flies=fli gas=gas gaps=gap kiwis=kiwi this=this status=status"],
  ["plurals", "classes=class stress=stress bus=bus thesis=thesi dogs=dog houses=hous"],
  ["-ed, -ing and -ly", "agreed=agre feed=feed luxuriated=luxuri troubled=troubl sized=size hopping=hop hoped=hope"],
  ["-ed, -ing and -ly", "hoping=hope failing=fail filing=file falling=fall hissing=hiss fizzed=fizz planned=plan"],
  [
    "-ed, -ing and -ly",
    "added=add adding=add egged=egg erred=err ebbed=ebb inning=inning outing=outing canning=canning",
  ],
  [
    "-ed, -ing and -ly",
    "evening=evening earring=earring herring=herring proceed=proceed exceed=exceed succeed=succeed",
  ],
  ["-ed, -ing and -ly", "proceeding=proceed succeeded=succeed exceedingly=exceed scanning=scan dying=die lying=lie"],
  ["-ed, -ing and -ly", "tying=tie vying=vie crying=cri saying=say playing=play shed=shed bleed=bleed seed=seed"],
  ["-ed, -ing and -ly", "exceedly=exceed"],
  ["y", "cry=cri by=by say=say enjoy=enjoy happy=happi yes=yes youth=youth boyish=boyish yellow=yellow"],
  ["y", "syzygy=syzygi flying=fli sky=sky skies=sky early=earli only=onli ugly=ugli gently=gentl"],
  ["y", "singly=singl idly=idl"],
  ["irregular words", "skis=ski skies=sky sky=sky news=news howe=howe atlas=atlas cosmos=cosmos bias=bias andes=andes"],
  ["wide beginnings", "generate=generat generates=generat general=general generally=general generic=generic"],
  ["wide beginnings", "generous=generous communication=communic communism=communism arsenal=arsenal past=past"],
  [
    "wide beginnings",
    "paste=paste pasted=paste university=universiti universe=univers universal=universal later=later",
  ],
  ["wide beginnings", "lateral=lateral emerge=emerg emergency=emergenc emergent=emergent organ=organ"],
  ["wide beginnings", "organization=organiz organic=organic inter=inter internal=internal international=internat"],
  ["-ogist", "geologist=geolog geology=geolog theologist=theolog apologist=apolog biologists=biolog"],
  ["apostrophes", "dog's=dog dogs'=dog dog's'=dog 'tis=tis 'cause=caus o'clock's=o'clock"],
  ["short words and other letters", "a=a at=at ox=ox été=été naïveté=naïveté 2nd=2nd 2024=2024 ab12ing=ab12"],
];

for (const [name, list] of new Map(Object.entries(Object.groupBy(pairs, ([group]) => group))))
  test(`stems: ${name}`, () => {
    for (const [, line] of list ?? []) {
      for (const pair of line.split(" ")) {
        const [word = "", stem] = pair.split("=");
        assert.equal(stemOf(word), stem, word);
      }
    }
  });

test("a stem is never empty and never longer than its word", () => {
  const word = fc.array(fc.constantFrom(..."aeiouybdglnrst'", "ing", "ed", "ly", "ational", "ness", "ies", "past"), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(word, (letters) => {
      const given = letters.join("");
      const stem = stemOf(given);
      assert.ok(stem.length <= given.length);
      assert.ok(stem.length > 0 || /^'+s?'*$/.test(given), given);
    }),
    { numRuns: 2_000 },
  );
});
