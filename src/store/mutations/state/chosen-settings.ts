/**
 * What CONFIG SET has chosen, as records, so that it moves with a shard to
 * another node. A single server writes none of them: there the values apply until
 * the next start, as the values of Redis without a configuration file do. It reads
 * those of an exported shard, and keeps them for a later import.
 *
 *     190 choose   | name bytes | text bytes |
 *
 * The text is what CONFIG GET returned after the change.
 */
import type { Bytes } from "../../../kernel/bytes.ts";
import type { FrameWriter } from "../../../kernel/frame.ts";
import type { ChosenSettings } from "../database-state.ts";
import type { StateMutation } from "../mutation.ts";

const CHOOSE_SETTING = 190;

/** What a choice needs of a database. */
export interface SettingsRecorder {
  readonly keyspace: { record(code: number): FrameWriter };
  readonly chosen: ChosenSettings;
}

export function chooseSetting({ keyspace, chosen }: SettingsRecorder, name: Bytes, text: Bytes): void {
  keyspace.record(CHOOSE_SETTING).bytes(name).bytes(text);
  chosen.set(name, text);
}

export const settingMutations: readonly StateMutation[] = [
  {
    code: CHOOSE_SETTING,
    name: "choose-setting",
    apply: ({ chosen }, record) => chosen.set(record.bytes(), record.bytes()),
    describe: ({ chosen }, record) => {
      for (const [name, text] of chosen) record(CHOOSE_SETTING).bytes(name).bytes(text);
    },
  },
];
