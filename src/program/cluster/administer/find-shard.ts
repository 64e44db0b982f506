/** The shard that an operand of a command names. */
import type { ClusterView, ShardView } from "../../../cluster/log-store/log-store.ts";
import { StartRefusal } from "../../refusal.ts";

/** The shard with the number that `operand` has. Throws a `StartRefusal` that names all shards if none has it. */
export function findShard({ shards }: ClusterView, operand: string): ShardView {
  const found = shards.find(({ shard }) => String(shard) === operand);
  if (found !== undefined) return found;
  throw new StartRefusal(
    `The cluster has no shard ${JSON.stringify(operand)}: its shards are ${shards.map(({ shard }) => shard).join(", ")}`,
    2,
  );
}
