import type { NextConfig } from "next";

const config: NextConfig = {
  // This folder, also where a folder above it has a lock file.
  turbopack: { root: import.meta.dirname },
};

export default config;
