#!/usr/bin/env node
"use strict";
/*
 * The start of the program, in JavaScript that even old versions of Node can
 * parse, so that an old Node prints a sentence and not a syntax error.
 *
 * On a Node that is too old, a checkout runs under the Node that `npm ci`
 * installed; an installed package prints the required version and ends.
 */
var fs = require("fs");
var path = require("path");
var url = require("url");

var NODE_MAJOR_MIN = 24;
/* All areas share one pool; blocked name look-ups must not keep syncs waiting (threats.md S-16). */
var THREAD_POOL_SIZE = "16";
/* Set with the size of the pool, if it is ours and not the user's, so that commands that we run do not inherit it. */
var OWN_THREAD_POOL = "NODE_LARDER_OWN_THREAD_POOL";
/* Set for a process that must end together with its parent. */
var TIED = "NODE_LARDER_TIED";

/*
 * Node opens its debugger at SIGUSR1, through which every user of the machine could read the tokens, and ends at
 * SIGUSR2. Processes that larder starts have a flag for it too: until they get here, SIGUSR1 ends them.
 */
var USER_SIGNALS = ["SIGUSR1", "SIGUSR2"];
var NO_DEBUGGER = "--disable-sigusr1";
USER_SIGNALS.forEach(function (signal) {
  process.on(signal, function () {});
});

var root = path.join(__dirname, "..");
var source = path.join(root, "src", "main.ts");
var compiled = path.join(root, "dist", "main.js");
var isCheckout = fs.existsSync(source);

if (Number(process.versions.node.split(".")[0]) < NODE_MAJOR_MIN) runUnderPinnedNode();
else run();

function run() {
  if (process.env.UV_THREADPOOL_SIZE === undefined) {
    process.env.UV_THREADPOOL_SIZE = THREAD_POOL_SIZE;
    process.env[OWN_THREAD_POOL] = "1";
  }
  if (process.env[TIED] !== undefined) tieToParent();
  /* So that no `object.__proto__ = …` anywhere can change a prototype (threats.md A-11). */
  delete Object.prototype.__proto__;
  enableCompileCache();
  import(url.pathToFileURL(isCheckout ? source : compiled).href).catch(function (error) {
    process.stderr.write("larder cannot start: " + (error && error.stack ? error.stack : error) + "\n");
    process.exitCode = 1;
  });
}

/* For this thread, and by the environment for the threads that it starts, which do not inherit it. */
function enableCompileCache() {
  if (process.env.NODE_DISABLE_COMPILE_CACHE) return;
  if (!process.env.NODE_COMPILE_CACHE) {
    var cache = require("./compile-cache.cjs");
    var directory = cache.findCompileCache({ build: cache.buildName(root, isCheckout ? source : compiled) });
    if (directory === undefined) return;
    process.env.NODE_COMPILE_CACHE = directory;
  }
  require("module").enableCompileCache(process.env.NODE_COMPILE_CACHE);
}

/* If the other end of the channel is closed, the process that would forward a stop signal is gone: stop. */
function tieToParent() {
  delete process.env[TIED];
  process.on("disconnect", function () {
    process.kill(process.pid, "SIGTERM");
  });
  if (process.channel) process.channel.unref();
  else process.kill(process.pid, "SIGTERM");
}

function runUnderPinnedNode() {
  var node = path.join(root, "node_modules", "node", "bin", "node");
  if (!isCheckout || !fs.existsSync(node)) {
    process.stderr.write(
      "larder needs Node " +
        NODE_MAJOR_MIN +
        " or newer, and this is Node " +
        process.versions.node +
        ": install a newer Node" +
        (isCheckout ? ", or run npm ci, which brings one" : "") +
        "\n"
    );
    process.exit(1);
  }
  var environment = Object.assign({}, process.env);
  environment[TIED] = "1";
  /* In a process group of its own, so that Ctrl-C reaches it once, through us, and not a second time from the terminal. */
  var child = require("child_process").spawn(node, [NO_DEBUGGER, __filename].concat(process.argv.slice(2)), {
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    detached: true,
    env: environment
  });
  var signals = ["SIGTERM", "SIGINT", "SIGHUP"];
  signals.forEach(function (signal) {
    process.on(signal, function () {
      child.kill(signal);
    });
  });
  child.on("error", function (error) {
    process.stderr.write("larder cannot run " + node + ": " + error.message + "\n");
    process.exit(1);
  });
  child.on("exit", function (code, signal) {
    if (signal === null) process.exit(code);
    /* End in the same way, so that the parent process sees it. */
    signals.concat(USER_SIGNALS).forEach(function (each) {
      process.removeAllListeners(each);
    });
    process.kill(process.pid, signal);
  });
}
