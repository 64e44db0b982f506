/** Generated from the tables of settings and fields by `npm run manual`. Do not edit. */

/** The keys of a configuration file: settings, and the databases, indexes, models and users. */
export interface ConfigurationKeys {
  /** Address of the JSON Schema of this file, for editors; larder ignores it. Default: none. */
  readonly $schema?: string;
  /** The store. */
  readonly store?: {
    /** The databases of the store. Default: one named main. */
    readonly databases?: readonly {
      /** Its name: 1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit. */
      readonly name: string;
      /** Its token. Default: generated, and stored in the data directory. */
      readonly token?: string;
      /** Its read-only token. Default: generated, and stored in the data directory. */
      readonly readOnlyToken?: string;
      /** The setting maxmemoryPolicy of this database. Default: the setting. */
      readonly maxmemoryPolicy?: "volatile-lru" | "volatile-lfu" | "volatile-random" | "volatile-ttl" | "allkeys-lru" | "allkeys-lfu" | "allkeys-random" | "noeviction";
      /** The setting maxmemory of this database, such as 100mb; 0 is no limit. Default: the setting. */
      readonly maxmemory?: number | string;
    }[];
  };
  /** The vector index. */
  readonly vector?: {
    /** The indexes of the vector index. Default: one named main. */
    readonly indexes?: readonly {
      /** Its name: 1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit. */
      readonly name: string;
      /** Its token. Default: generated, and stored in the data directory. */
      readonly token?: string;
      /** Its read-only token. Default: generated, and stored in the data directory. */
      readonly readOnlyToken?: string;
      /** The kind of vectors of its records. Default: DENSE. */
      readonly type?: "DENSE" | "SPARSE" | "HYBRID";
      /** Dimension of dense vectors; auto takes it from the model, or from the first upsert. Default: auto. */
      readonly dimension?: "auto" | number;
      /** Similarity of dense vectors. Default: COSINE. */
      readonly similarity?: "COSINE" | "EUCLIDEAN" | "DOT_PRODUCT";
      /** The model that turns texts into dense vectors: one of vector.models, or described here with its provider. Default: none. */
      readonly embedding?: {
        /** Name of the model. */
        readonly model: string;
      } | {
        /** Name of the model. */
        readonly model: string;
        /** What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests). */
        readonly provider: "http";
        /** The full URL of an OpenAI-style endpoint: larder sends {"model": …, "input": [texts]} to it, and retries temporary failures for up to a minute. */
        readonly url: string;
        /** Name of the model at the endpoint. Default: the published name of a documented model, such as BAAI/bge-m3; else the name of the model. */
        readonly modelName?: string;
        /** File with the key, which is sent as bearer token; apiKeyVariable is the alternative. Default: no key. */
        readonly apiKeyFile?: string;
        /** Environment variable with the key. Default: no key. */
        readonly apiKeyVariable?: string;
        /** How long one request may take. Default: 30s. */
        readonly timeout?: string;
        /** Most texts of one request. Default: 64. */
        readonly batchSize?: number;
        /** Dimension requested from the endpoint. Default: that of the model. */
        readonly dimensions?: number;
        /** Put before the text of a query. Default: nothing. */
        readonly queryPrefix?: string;
        /** Put before the text of a record. Default: nothing. */
        readonly documentPrefix?: string;
      } | {
        /** Name of the model. */
        readonly model: string;
        /** What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests). */
        readonly provider: "local";
        /** Directory with the files of the model, in the form that the package @huggingface/transformers reads. */
        readonly directory: string;
        /** How the vectors of the words become the vector of a text. Default: cls for a documented model, else mean. */
        readonly pooling?: "cls" | "mean";
        /** Which file of the model is run. Default: fp32. */
        readonly precision?: "fp32" | "fp16" | "q8" | "int8" | "uint8" | "q4";
        /** Put before the text of a query. Default: nothing. */
        readonly queryPrefix?: string;
        /** Put before the text of a record. Default: nothing. */
        readonly documentPrefix?: string;
      } | {
        /** Name of the model. */
        readonly model: string;
        /** What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests). */
        readonly provider: "hashing";
        /** Dimension of the vectors. Default: that of the model or of the index. */
        readonly dimension?: number;
      };
      /** The model that turns texts into sparse vectors; a HYBRID index has models for both parts or for neither. Default: none. */
      readonly sparseEmbedding?: "BM25";
      /** Share of the nearest records that a query finds by dense vectors, on average. Default: recallTarget of the program. */
      readonly recallTarget?: number | string;
      /** Where the dense vectors of large namespaces are: in memory, or in files. A start applies a change. Default: vectorRows of the program. */
      readonly rows?: "memory" | "disk";
    }[];
    /** Providers of the models that indexes name, by the name of the model. Default: none. */
    readonly models?: Readonly<Record<string, {
      /** What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests). */
      readonly provider: "http";
      /** The full URL of an OpenAI-style endpoint: larder sends {"model": …, "input": [texts]} to it, and retries temporary failures for up to a minute. */
      readonly url: string;
      /** Name of the model at the endpoint. Default: the published name of a documented model, such as BAAI/bge-m3; else the name of the model. */
      readonly modelName?: string;
      /** File with the key, which is sent as bearer token; apiKeyVariable is the alternative. Default: no key. */
      readonly apiKeyFile?: string;
      /** Environment variable with the key. Default: no key. */
      readonly apiKeyVariable?: string;
      /** How long one request may take. Default: 30s. */
      readonly timeout?: string;
      /** Most texts of one request. Default: 64. */
      readonly batchSize?: number;
      /** Dimension requested from the endpoint. Default: that of the model. */
      readonly dimensions?: number;
      /** Put before the text of a query. Default: nothing. */
      readonly queryPrefix?: string;
      /** Put before the text of a record. Default: nothing. */
      readonly documentPrefix?: string;
    } | {
      /** What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests). */
      readonly provider: "local";
      /** Directory with the files of the model, in the form that the package @huggingface/transformers reads. */
      readonly directory: string;
      /** How the vectors of the words become the vector of a text. Default: cls for a documented model, else mean. */
      readonly pooling?: "cls" | "mean";
      /** Which file of the model is run. Default: fp32. */
      readonly precision?: "fp32" | "fp16" | "q8" | "int8" | "uint8" | "q4";
      /** Put before the text of a query. Default: nothing. */
      readonly queryPrefix?: string;
      /** Put before the text of a record. Default: nothing. */
      readonly documentPrefix?: string;
    } | {
      /** What runs the model: an HTTP endpoint, a package on this machine, or nothing (hashing: vectors made from the letters of a text, for tests). */
      readonly provider: "hashing";
      /** Dimension of the vectors. Default: that of the model or of the index. */
      readonly dimension?: number;
    }>>;
  };
  /** Messaging. */
  readonly messaging?: {
    /** The users of messaging. Default: one named main. */
    readonly users?: readonly {
      /** Its name: 1 to 64 letters, digits, hyphens, underscores or periods, and starts with a letter or digit. */
      readonly name: string;
      /** Its token. Default: generated, and stored in the data directory. */
      readonly token?: string;
      /** Its read-only token. Default: generated, and stored in the data directory. */
      readonly readOnlyToken?: string;
      /** Key that signs deliveries: sig_…. Default: generated, and stored in the data directory. */
      readonly currentSigningKey?: string;
      /** Key that signs after the next rotation: sig_…. Default: generated, and stored in the data directory. */
      readonly nextSigningKey?: string;
    }[];
  };
  /** The admin port. */
  readonly admin?: {
    /** Token of the admin port. Default: generated, and stored in the data directory. */
    readonly token?: string;
  };
  /** Directory of all stored data; only one process at a time may use it. Default: ./larder-data; none in dev, which then stores nothing. */
  readonly dataDir?: string;
  /** When a write to the store or the vector index is acknowledged: after it is synced, after it is written (and synced each second), or after it is written. Default: everysec; always in a cluster. */
  readonly fsync?: "always" | "everysec" | "no";
  /** Write snapshots in a separate process, so that a start need not replay the whole journal. Default: on. */
  readonly snapshots?: true | false | "on" | "off";
  /** Refuse writes, as on a full disk, while the disk of the data directory has less free space than this; off lets the disk become full, which loses no data either. Default: off. */
  readonly minFreeDisk?: number | string | "off" | false;
  /** Copy the data directory while the server works, to s3://bucket/prefix or file:///other/disk, from which larder restore makes it again; credentials are in the usual variables of AWS. Default: none: nothing is copied. */
  readonly replicate?: string;
  /** The copy has what a restore to any moment of so long a time needs; older objects are removed. Default: 7d. */
  readonly replicateKeep?: string;
  /** The longest time that a synced write waits for its part of the copy: longer takes fewer requests. Default: 1s. */
  readonly replicateInterval?: string;
  /** Run all areas in one thread, or each area in its own thread. Default: per-area; one in dev and with --port. */
  readonly threads?: "one" | "per-area";
  /** The reader of HTTP requests: larder's own, or that of Node, which takes about a third more processor time for a small request. Default: larder. */
  readonly http?: "larder" | "node";
  /** Address that the areas listen on. Default: 127.0.0.1. */
  readonly host?: string;
  /** Port of the store; 0 means any free port, here and for every other port. Default: 8079. */
  readonly storePort?: number | string;
  /** Port of messaging. Default: 8080. */
  readonly messagingPort?: number | string;
  /** Port of the vector index. Default: 8081. */
  readonly vectorPort?: number | string;
  /** One port for all areas, under /store, /vector and /messaging, instead of the three ports; dev ignores PORT. Default: off. */
  readonly port?: number | string | "off" | false;
  /** Certificate in PEM, with its intermediate certificates: the ports of the areas then speak only HTTPS, and so does the admin port unless its address is loopback; it is read again when the file changes. Default: none. */
  readonly tlsCert?: string;
  /** Private key of that certificate, in PEM. Default: none. */
  readonly tlsKey?: string;
  /** Offer HTTP/2 on the HTTPS ports of the areas, for proxies that need it; clients that choose HTTP/1.1 use the same ports. Default: off. */
  readonly http2?: true | false | "on" | "off";
  /** Port on which the store speaks RESP over TCP, the protocol of Redis clients. Default: off. */
  readonly respPort?: number | string | "off" | false;
  /** Certificate in PEM, with its intermediate certificates: the RESP port then speaks only TLS. Default: none. */
  readonly respTlsCert?: string;
  /** Private key of the certificate, in PEM. Default: none. */
  readonly respTlsKey?: string;
  /** For the tests of Redis: over RESP, allow DEBUG and CONFIG SET of any name, and need no password if there is only one database; any client of the port can block the store for seconds. Default: off. */
  readonly redisCompat?: true | false | "on" | "off";
  /** Address of the admin port. Default: 127.0.0.1. */
  readonly adminHost?: string;
  /** Port of health, metrics and administration. Default: 8082. */
  readonly adminPort?: number | string;
  /** Host names, besides localhost and any IP address, that requests to the admin port may have in their Host header. Default: none. */
  readonly adminAllowedHosts?: string | readonly string[];
  /** Serve the console, a web application, at the admin port under /console: in dev to this machine without a login, in serve after a login with the admin token. Default: off; on in dev. */
  readonly console?: true | false | "on" | "off";
  /** Addresses that messages may be delivered to: public, also private networks, or also loopback; link-local metadata addresses only if listed in --allow-destination. Default: public; any in dev. */
  readonly destinations?: "public" | "private" | "any";
  /** Additional allowed addresses, networks, host names and *.suffix; for a metadata address, list the address or a narrow network around it, not its name. Default: none. */
  readonly allowDestination?: string | readonly string[];
  /** Connect to another address for a host or *.suffix; records and signatures keep the published URL. Default: none. */
  readonly outboundMap?: string | readonly string[];
  /** Largest body of a request, and largest command in a pipeline or a transaction. Default: 10mb. */
  readonly maxRequestSize?: number | string;
  /** Largest request line and headers together. Default: 64kb. */
  readonly maxHeaderSize?: number | string;
  /** Most memory that the keys and values of each database may use, spelled as in redis.conf: 100mb, 1gb; 0 is no limit. Default: 0. */
  readonly maxmemory?: number | string;
  /** What happens when a database exceeds --maxmemory: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction. Default: noeviction. */
  readonly maxmemoryPolicy?: "volatile-lru" | "volatile-lfu" | "volatile-random" | "volatile-ttl" | "allkeys-lru" | "allkeys-lfu" | "allkeys-random" | "noeviction";
  /** Keys sampled to find one to evict: more samples are slower and closer to the policy. Default: 5. */
  readonly maxmemorySamples?: number | string;
  /** How long a script or function may run, including its compilation, before it is stopped; the store serves no other client meanwhile. Default: 1s. */
  readonly scriptTimeLimit?: string;
  /** Most memory that the scripts of one user of a database may use; all users together use at most four times as much. Default: 64mb. */
  readonly scriptMemory?: number | string;
  /** Most memory for undoing the writes of one script or transaction; one that needs more is stopped and undone. Default: 128mb. */
  readonly maxUndoSize?: number | string;
  /** Most commands per database and UTC day. Default: off. */
  readonly dailyRequestLimit?: number | string | "off" | false;
  /** Most entries of a stream that XREADGROUP leaves pending for one consumer. Default: off. */
  readonly pendingLimit?: number | string | "off" | false;
  /** Most requests per token and second; more are answered with 429. Default: off. */
  readonly rateLimit?: number | string | "off" | false;
  /** Most event streams of the store (subscriptions and monitors) that one token may have open. Default: 1000. */
  readonly streamLimit?: number | string;
  /** Most connections to the RESP port. Default: 10000. */
  readonly maxRespConnections?: number | string;
  /** Addresses and networks of proxies whose X-Forwarded-For names the client; it is read from the right, and ignored from other senders. Default: none. */
  readonly trustedProxies?: string | readonly string[];
  /** Most connections from one address (for IPv6, from one /64 network) to one port; loopback and --trusted-proxies have no limit. Default: 5000. */
  readonly maxConnectionsPerAddress?: number | string | "off" | false;
  /** Lowest average rate of a request body, per second, after the first ten seconds; slower requests get 408. Default: 1kb. */
  readonly minBodyRate?: number | string | "off" | false;
  /** Let pages of other origins call the store and the vector index, not messaging; they still need a token. Default: on. */
  readonly cors?: true | false | "on" | "off";
  /** Accept the store's token as the query parameter _token too; addresses end up in the logs of proxies. Default: on. */
  readonly queryToken?: true | false | "on" | "off";
  /** Largest JavaScript heap of each area's thread; auto is the memory of its area. Default: auto. */
  readonly heapLimit?: number | string | "auto";
  /** Most memory of the store, its heap and large values; before it is used up, the tenant that uses the most may not grow; auto is its share of three quarters of the memory that the process may use. Default: auto. */
  readonly storeMemory?: number | string | "auto";
  /** The same for messaging: waiting messages, dead letters, runs. Default: auto. */
  readonly messagingMemory?: number | string | "auto";
  /** The same for the vector index: vectors, graphs, metadata. Default: auto. */
  readonly vectorMemory?: number | string | "auto";
  /** How long a shutdown waits for requests in progress, then for deliveries in progress, and then for the copy of --replicate. Default: 10s. */
  readonly shutdownGrace?: string;
  /** Most retries that a message may request. Default: 1000. */
  readonly maxRetries?: number | string;
  /** Longest delay that a message may request. Default: 1098d. */
  readonly maxDelay?: string;
  /** Longest time that a delivery may take, also for messages without a timeout. Default: 2h. */
  readonly maxTimeout?: string;
  /** Largest response of a destination that is stored for callbacks, workflow calls, logs and dead letters; a larger one is truncated and marked with the header Service-Body-Cut. Default: as large as --max-request-size, but at most 100mb. */
  readonly maxResponseSize?: number | string;
  /** Most messages per user and UTC day. Default: off. */
  readonly dailyMessageLimit?: number | string | "off" | false;
  /** Most schedules of a user. Default: 100000. */
  readonly maxSchedules?: number | string;
  /** Most queues of a user. Default: 10000. */
  readonly maxQueues?: number | string;
  /** Most messages of a queue that may be delivered at the same time. Default: 1000. */
  readonly maxQueueParallelism?: number | string;
  /** Most URL groups of a user. Default: 10000. */
  readonly maxUrlGroups?: number | string;
  /** Most endpoints of a URL group. Default: 1000. */
  readonly maxEndpoints?: number | string;
  /** Most steps of a workflow run. Default: 10000. */
  readonly maxWorkflowSteps?: number | string;
  /** Most bytes of all steps of a workflow run together. Default: 100mb. */
  readonly maxWorkflowBytes?: number | string;
  /** Longest chain of workflow runs in which each invokes the next. Default: 100. */
  readonly maxInvokeDepth?: number | string;
  /** Most workflow runs that may wait for one event. Default: 10000. */
  readonly maxWaiters?: number | string;
  /** Above this size, the steps of a workflow run are not sent with a delivery; its client fetches them. Default: 4mb. */
  readonly lazyFetch?: number | string;
  /** Most concurrent deliveries of one user. Default: 1000. */
  readonly userParallelism?: number | string;
  /** Most concurrent deliveries to one scheme, host and port, and most connections to it. Default: 50. */
  readonly destinationParallelism?: number | string;
  /** How long failed messages are kept in the dead-letter queue. Default: 7d. */
  readonly dlqRetention?: string;
  /** How long log entries of messages are kept. Default: 14d. */
  readonly logRetention?: string;
  /** Prefixes of the headers that larder adds to deliveries. Default: both. */
  readonly deliveryHeaders?: "both" | "service" | "upstash";
  /** Region named in deliveries; some receivers choose their signing keys by it. Default: US-EAST-1. */
  readonly region?: string;
  /** Most hits that a query may request, and most records in one page of a range or of a fetch by prefix. Default: 1000. */
  readonly maxTopK?: number | string;
  /** Most queries in one request, and ids in one fetch. Default: 1000. */
  readonly maxReadsPerRequest?: number | string;
  /** Share of the nearest records that a query finds by dense vectors, on average; an index may have its own recallTarget. Default: 0.99. */
  readonly recallTarget?: number | string;
  /** Largest effort of a search by a graph: of a query that sets effort, and of an index for its recall target. Default: 4000. */
  readonly maxEffort?: number | string;
  /** Where the dense vectors of large namespaces are: disk reads them from files for the last scores of a search; an index may have its own rows. A start applies a change. Default: memory. */
  readonly vectorRows?: "memory" | "disk";
  /** Threads that search dense vectors, with the area's own: auto is one for each core but one, and at least 1, which starts no other thread. Default: auto. */
  readonly vectorThreads?: number | string | "auto";
  /** Most records in one upsert, and ids in one delete. Default: 1000. */
  readonly maxWritesPerRequest?: number | string;
  /** Largest body of a request to the vector index. Default: 64mb. */
  readonly maxVectorRequestSize?: number | string;
  /** Most dimensions that an index may have. Default: 5376. */
  readonly maxDimension?: number | string;
  /** Most values of one sparse vector. Default: 1000. */
  readonly maxSparseValues?: number | string;
  /** Largest metadata of one record, as compact JSON. Default: 48kb. */
  readonly maxMetadataSize?: number | string;
  /** Largest data of one record. Default: 1mb. */
  readonly maxDataSize?: number | string;
  /** Most namespaces of an index. Default: 100000. */
  readonly maxNamespaces?: number | string;
  /** Most resumable queries of an index that are open at the same time. Default: 1000. */
  readonly maxResumableQueries?: number | string;
  /** Most queries per index and UTC day. Default: off. */
  readonly dailyQueryLimit?: number | string | "off" | false;
  /** Most records changed per index and UTC day. Default: off. */
  readonly dailyUpdateLimit?: number | string | "off" | false;
  /** PostgreSQL of the cluster that this server is a node of, postgres://<user>@<host>,<host>/<database>, without a password; the data directory is then a cache. Default: none: a single server. */
  readonly cluster?: string;
  /** Name of this node, which no other node of the cluster has. Default: the name of the machine. */
  readonly clusterNode?: string;
  /** What a node needs before it answers a read: a lease that it counts by its own clocks, or a commit in PostgreSQL after the read, which trusts no clock and takes one round trip. Default: lease. */
  readonly reads?: "lease" | "confirm";
  /** Address of this node for the other nodes, which forward requests to it: three ports from this one on, for the store, messaging and the vector index; the connections are encrypted. Default: none: requests for areas of other nodes are refused with 421. */
  readonly clusterAddress?: string;
  /** Serve no shard, and be the standby of none: only read the requests of clients, and pass them on to the nodes that serve their shards; needs a cluster address. Default: off. */
  readonly front?: true | false | "on" | "off";
  /** How long a request, or a login over RESP, waits on a node with a cluster address while no node serves its area; 0s refuses it at once. Default: 10s. */
  readonly takeoverWait?: string;
  /** Threads for the shards of each area on this node, at most one for each shard; they share the memory of the area in equal parts, and the shards of the store stay in one thread while the RESP port is set. Default: 1. */
  readonly engineThreads?: number | string;
  /** Keep the files of those shards that this node would take over from another one, so that a takeover reads little from PostgreSQL and the log of messages goes on; they take disk space, and each byte is read from PostgreSQL once more. Default: on. */
  readonly standby?: true | false | "on" | "off";
  /** Name the node that made an answer in the header Larder-Owner, by an opaque name that larder cluster status shows, so that a load balancer can go straight to it. Default: off. */
  readonly ownerHeader?: true | false | "on" | "off";
  /** Lowest level that is logged. Default: info. */
  readonly logLevel?: "debug" | "info" | "warn" | "error";
  /** JSON lines, text for people, or text at a terminal and JSON elsewhere. Default: auto. */
  readonly logFormat?: "auto" | "json" | "text";
}
