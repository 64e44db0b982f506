/** `larder db`, `larder index` and `larder user`, as rows of the table: one set of commands for each kind of tenant. */
import type { TenantKind } from "../../../edge/admin/routes.ts";
import { type CommandOption, type CommandRow, devOption, jsonOption } from "../command-row.ts";

/** The words of a kind: of its commands, and in sentences. */
export interface KindWords {
  readonly kind: TenantKind;
  readonly word: string;
  readonly noun: string;
  readonly article: string;
  /** An example of a name. */
  readonly example: string;
  /** The options of a new one. */
  readonly description: readonly CommandOption[];
  /** Commands that other kinds do not have. */
  readonly further?: readonly CommandRow[];
}

const indexDescription: readonly CommandOption[] = [
  {
    name: "type",
    flag: "--type",
    argument: "DENSE|SPARSE|HYBRID",
    meaning: "the kind of its vectors; by default DENSE",
  },
  {
    name: "dimension",
    flag: "--dimension",
    argument: "<count>",
    meaning: "the dimension of its dense vectors; by default that of the model, or of the first vector",
  },
  {
    name: "similarity",
    flag: "--similarity",
    argument: "COSINE|EUCLIDEAN|DOT_PRODUCT",
    meaning: "how dense vectors are compared; by default COSINE",
  },
  {
    name: "embedding",
    flag: "--embedding",
    argument: "<model>",
    meaning: "the model that turns texts into dense vectors: a model of the configuration file",
  },
  {
    name: "provider",
    flag: "--provider",
    argument: "hashing",
    meaning: "the provider of that model, if the configuration file does not have it",
  },
  {
    name: "sparse embedding",
    flag: "--sparse-embedding",
    argument: "<model>",
    meaning: "the model that turns texts into sparse vectors: BM25",
  },
  {
    name: "recall target",
    flag: "--recall",
    argument: "<share>",
    meaning: "the share of the nearest records that queries should find, instead of --recall-target of the server",
  },
  {
    name: "rows",
    flag: "--rows",
    argument: "memory|disk",
    meaning: "where its dense vectors are, instead of --vector-rows of the server",
  },
];

const shardOption: CommandOption = {
  name: "shard",
  flag: "--shard",
  argument: "<number>",
  meaning: "in a cluster, the shard that it lives on; by default the one with the fewest of its kind",
};

const shared = { group: "Databases, indexes and users", defaults: "serve" } as const;

const namespacesRow: CommandRow = {
  ...shared,
  words: "index namespaces",
  operands: ["<name>"],
  options: [
    {
      name: "prefix",
      flag: "--prefix",
      argument: "<text>",
      meaning: "only namespaces whose name begins with this",
    },
    devOption,
    jsonOption,
  ],
  meaning: "lists the namespaces of an index, with their records and their memory",
  example: "larder index namespaces docs",
  async run({ run, operands: [name = ""], options, print }) {
    const { listNamespaces } = await import("./tenants.ts");
    for (const line of await listNamespaces(run, { name, options })) print(line);
    return 0;
  },
};

export const tenantWords: readonly KindWords[] = [
  { kind: "databases", word: "db", noun: "database", article: "a", example: "sessions", description: [] },
  {
    kind: "indexes",
    word: "index",
    noun: "index",
    article: "an",
    example: "docs",
    description: indexDescription,
    further: [namespacesRow],
  },
  { kind: "users", word: "user", noun: "messaging user", article: "a", example: "jobs", description: [] },
];

export const tenantRows: readonly CommandRow[] = tenantWords.flatMap(rowsOf);

function rowsOf(words: KindWords): readonly CommandRow[] {
  const { kind, word, noun, article, example, description, further = [] } = words;
  return [
    {
      ...shared,
      words: `${word} list`,
      operands: [],
      options: [devOption, jsonOption],
      meaning: `lists each ${noun} of the running server, and where it is defined`,
      example: `larder ${word} list`,
      async run({ run, options, print }) {
        const { listTenants } = await import("./tenants.ts");
        for (const line of await listTenants(run, kind, { isJson: options.has("json") })) print(line);
        return 0;
      },
    },
    {
      ...shared,
      words: `${word} create`,
      operands: ["<name>"],
      options: [...description, shardOption, devOption, jsonOption],
      meaning: `creates ${article} ${noun} in the running server and prints its tokens`,
      example: `larder ${word} create ${example}`,
      async run({ run, operands: [name = ""], options, print }) {
        const { createTenant } = await import("./tenants.ts");
        for (const line of await createTenant(run, { kind, name, options })) print(line);
        return 0;
      },
    },
    {
      ...shared,
      words: `${word} remove`,
      operands: ["<name>"],
      options: [devOption, jsonOption],
      meaning: `removes ${article} ${noun} from the running server, with its data and its tokens`,
      example: `larder ${word} remove ${example}`,
      async run({ run, operands: [name = ""], options, print }) {
        const { removeTenant } = await import("./tenants.ts");
        for (const line of await removeTenant(run, { kind, name, options, noun })) print(line);
        return 0;
      },
    },
    {
      ...shared,
      words: `${word} token`,
      operands: ["<name>"],
      options: [
        { name: "reset", flag: "--reset", meaning: "first replaces them; the old ones are refused from then on" },
        devOption,
        jsonOption,
      ],
      meaning: `prints the tokens of ${article} ${noun}`,
      example: `larder ${word} token ${example}`,
      async run({ run, operands: [name = ""], options, print }) {
        const { tokensOf } = await import("./tenants.ts");
        for (const line of await tokensOf(run, { kind, name, options })) print(line);
        return 0;
      },
    },
    ...further,
  ];
}
