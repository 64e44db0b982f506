/** The manifests of `deploy/kubernetes/` and the chart of `deploy/helm/`: one larder, and three nodes. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { test } from "node:test";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { adminRoutes } from "../src/edge/admin/routes.ts";
import { ungivenSecrets } from "../src/program/cluster/given-secrets.ts";
import { readSettings } from "../src/program/settings/read-settings.ts";
import { resolveTenants } from "../src/program/tenants/tokens.ts";
import { objectsIn, renderChart, type Values } from "./harness/chart.ts";

const CHART = "deploy/helm/larder";
const MAKE_SECRETS = "deploy/cluster/make-secrets";
const SECRETS = "/run/secrets/larder";
const USER = 10_001;

const read = (path: string): string => readFileSync(path, "utf8");

/** The fields of Kubernetes' objects that the tests look at; those of a kind without them are absent. */
interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: unknown };
  readonly spec: {
    readonly replicas: number;
    readonly ports: readonly { readonly port: number; readonly targetPort: string }[];
    readonly selector: unknown;
    readonly template: { readonly metadata: { readonly labels: unknown }; readonly spec: PodSpec };
  };
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number;
  readonly securityContext: unknown;
  readonly containers: readonly Container[];
}

interface Container {
  readonly args?: readonly string[];
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly securityContext: unknown;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
  readonly startupProbe: Probe;
  readonly livenessProbe: Probe;
  readonly readinessProbe: Probe;
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

function manifest(name: string): ReadonlyMap<string, KubernetesObject> {
  return byKind(objectsIn(read(`deploy/kubernetes/${name}.yaml`)));
}

function byKind(objects: readonly unknown[]): ReadonlyMap<string, KubernetesObject> {
  return new Map((objects as readonly KubernetesObject[]).map((each) => [each.kind, each]));
}

function get<Value>(map: ReadonlyMap<string, Value>, name: string): Value {
  const found = map.get(name);
  assert.ok(found !== undefined, `${name} is missing`);
  return found;
}

/** The variables of a container with those of the image and of its pod, and its secrets from a folder of make-secrets. */
function environmentOf({ env }: Container, secrets: string): Readonly<Record<string, string>> {
  const fixed = { LARDER_HOST: "0.0.0.0", LARDER_DATA_DIR: "/data" };
  // Of the fields of the pod, larder itself reads only its name.
  const given = env.flatMap(({ name, value = "larder-0" }) =>
    name === "POD_IP" ? [] : [[name, value.replace("$(POD_IP)", "10.0.0.7").replace(SECRETS, secrets)]],
  );
  return { ...fixed, ...Object.fromEntries(given) };
}

test("pods are given what larder needs, and restricted as the pod security standard asks", (context) => {
  const secrets = mkdtempSync(join(tmpdir(), "larder-kubernetes-"));
  context.after(() => rmSync(secrets, { recursive: true, force: true }));
  const made = spawnSync(MAKE_SECRETS, [secrets, "postgres://larder:word@db1/larder"], { encoding: "utf8" });
  assert.equal(made.status, 0, made.stderr);
  for (const [name, replicas, kinds] of [
    ["single", 1, ["Service", "StatefulSet"]],
    ["cluster", 3, ["Service", "PodDisruptionBudget", "Job", "StatefulSet"]],
  ] as const) {
    const objects = manifest(name);
    assert.deepEqual([...objects.keys()], kinds);
    const { spec } = get(objects, "StatefulSet");
    const pod = spec.template.spec;
    const [container] = pod.containers;
    assert.ok(container !== undefined);
    assert.equal(spec.replicas, replicas);
    const reading = readSettings({
      arguments: ["serve"],
      environment: environmentOf(container, secrets),
      readFile: read,
    });
    assert.ok(reading.kind === "run", JSON.stringify(reading));
    const { settings } = reading.run;
    assert.deepEqual(ungivenSecrets(resolveTenants(reading.run, {}).tenants), []);
    assert.equal(settings.clusterNode, name === "cluster" ? "larder-0" : undefined);

    const ports = new Map(container.ports.map((port) => [port.name, port.containerPort]));
    const { storePort: store, messagingPort: messaging, vectorPort: vector, adminPort: admin } = settings;
    assert.deepEqual(Object.fromEntries(ports), {
      ...{ store, messaging, vector, admin },
      ...(name === "cluster" && { nodes: settings.clusterAddress?.port }),
    });
    const service = get(objects, "Service");
    assert.deepEqual(service.spec.selector, spec.template.metadata.labels);
    assert.deepEqual(
      service.spec.ports.map(({ port, targetPort }) => [targetPort, port]),
      Object.entries({ store, messaging, vector }),
    );
    assert.equal(settings.adminHost, "0.0.0.0");
    const path = (id: string): string | undefined => adminRoutes.find((route) => route.id === id)?.path;
    assert.deepEqual(container.readinessProbe.httpGet, { path: path("isReady"), port: "admin" });
    for (const probe of [container.startupProbe, container.livenessProbe])
      assert.deepEqual(probe.httpGet, { path: path("isLive"), port: "admin" });
    assert.ok(pod.terminationGracePeriodSeconds * 1_000 >= 3 * settings.shutdownGraceMs + 15_000);
    assert.ok(container.volumeMounts.some(({ mountPath }) => mountPath === settings.dataDirectory));

    for (const { template } of [spec, ...(name === "cluster" ? [get(objects, "Job").spec] : [])]) {
      const { securityContext, containers } = template.spec;
      assert.partialDeepStrictEqual(securityContext, {
        runAsNonRoot: true,
        runAsUser: USER,
        seccompProfile: { type: "RuntimeDefault" },
      });
      assert.deepEqual(containers[0]?.securityContext, {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
    }
  }
  const [tables] = get(manifest("cluster"), "Job").spec.template.spec.containers;
  assert.ok(tables !== undefined);
  const environment = environmentOf(tables, secrets);
  const reading = readSettings({ arguments: tables.args ?? [], environment, readFile: read });
  assert.equal(reading.kind === "run" && reading.command.words, "cluster init");
  for (const { env } of [tables, get(manifest("cluster"), "StatefulSet").spec.template.spec.containers[0] ?? tables])
    for (const { name, value = "" } of env.filter((each) => each.name.endsWith("_FILE")))
      assert.ok(readdirSync(secrets).includes(basename(value)), name);
  assert.ok(read("Dockerfile").includes(`ARG RUN_AS=${USER}:${USER}`));
});

const values: Values = parse(read(`${CHART}/values.yaml`));
const clusterValues: Values = { ...values, cluster: { enabled: true, nodes: 3 } };

test("the chart renders to the manifests, with and without a cluster", () => {
  assert.deepEqual(byKind(renderChart(CHART, values)), manifest("single"));
  const rendered = new Map(byKind(renderChart(CHART, clusterValues)));
  const job = get(rendered, "Job");
  // Helm runs it before the nodes.
  const { annotations, ...metadata } = job.metadata;
  assert.deepEqual(annotations, {
    "helm.sh/hook": "pre-install,pre-upgrade",
    "helm.sh/hook-delete-policy": "before-hook-creation",
  });
  rendered.set("Job", { ...job, metadata });
  assert.deepEqual(rendered, manifest("cluster"));
  const changed = renderChart(CHART, {
    ...values,
    settings: { LARDER_LOG_LEVEL: 'a "b"' },
    nodeSelector: { disk: "ssd" },
    storage: { size: "1Gi", className: "fast", accessMode: "ReadWriteOncePod" },
    podAnnotations: {},
  });
  const text = JSON.stringify(changed);
  for (const part of ['"value":"a \\"b\\""', '"nodeSelector":{"disk":"ssd"}', '"storageClassName":"fast"'])
    assert.ok(text.includes(part), part);
  assert.doesNotMatch(text, /prometheus/);
});

test("the schema of the chart accepts its values, and refuses others by name", () => {
  const validate = new Ajv({ strict: true, allErrors: true }).compile(JSON.parse(read(`${CHART}/values.schema.json`)));
  const placesOf = (changes: Values): readonly string[] => {
    validate({ ...values, ...changes });
    return (validate.errors ?? []).map(({ instancePath, keyword }) => `${instancePath} ${keyword}`);
  };
  assert.deepEqual(placesOf({}), []);
  assert.deepEqual(placesOf({ cluster: { enabled: true, nodes: 3 } }), []);
  assert.deepEqual(placesOf({ replicas: 2 }), [" additionalProperties"]);
  assert.deepEqual(placesOf({ cluster: { enabled: true, nodes: 1 } }), ["/cluster/nodes minimum"]);
  assert.deepEqual(placesOf({ storage: { size: "1Gi", accessMode: "ReadWriteMany" } }), ["/storage/accessMode enum"]);
  assert.ok(placesOf({ settings: { LARDER_DATA_DIR: "/x" } }).includes("/settings propertyNames"));
});

test("Helm renders the chart as this test does", {
  skip: spawnSync("helm", ["version"]).error !== undefined && "helm is not on the PATH",
}, () => {
  for (const [words, own] of [
    [[], values],
    [["--set", "cluster.enabled=true"], clusterValues],
  ] as const) {
    const helm = spawnSync("helm", ["template", "larder", CHART, ...words], { encoding: "utf8" });
    assert.equal(helm.status, 0, helm.stderr);
    assert.deepEqual(byKind(objectsIn(helm.stdout)), byKind(renderChart(CHART, own)));
  }
});
