/** The certificates of a start. */

import { StartRefusal } from "../refusal.ts";
import { respPlan, tlsPlan } from "../settings/plan.ts";
import type { RunSettings } from "../settings/run-settings.ts";

/** One sentence for each unusable certificate, so that a start reports all problems at once. */
export async function unusableCertificates(run: RunSettings): Promise<readonly string[]> {
  const plans = [tlsPlan(run), run.settings.respPort === undefined ? undefined : respPlan(run).tls];
  const given = plans.filter((plan) => plan !== undefined);
  if (given.length === 0) return [];
  // Loaded only where it is used.
  const { readCertificate } = await import("./certificate.ts");
  return given.flatMap((plan) => {
    try {
      readCertificate(plan);
      return [];
    } catch (fault) {
      if (!(fault instanceof StartRefusal)) throw fault;
      return [fault.message];
    }
  });
}
