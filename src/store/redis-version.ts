/** The version of Redis whose behaviour and texts we follow; clients ask for it before they use a command. */
export const REDIS_VERSION = "7.0.15";
