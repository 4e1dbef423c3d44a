#!/usr/bin/env node
"use strict";

// Runs the program with the same descriptors, and ends as it does. A terminal sends its signals
// to both; those that are sent to this process alone are passed on.
const { spawn } = require("node:child_process");
const { constants } = require("node:os");

let binary;
try {
  ({ binary } = require("../index.js"));
} catch (error) {
  console.error(error.message);
  process.exit(3);
}
// Signals are passed on from the beginning: the program can be ready before this process goes on.
let child;
const signals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"];
for (const signal of signals) {
  process.on(signal, () => {
    if ((signal !== "SIGINT" && signal !== "SIGQUIT") || !process.stdin.isTTY) child.kill(signal);
  });
}
child = spawn(binary, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
child.on("error", (error) => {
  console.error(`p20export: ${binary}: ${error.message}`);
  process.exit(3);
});
child.on("exit", (status, signal) => {
  process.exit(signal ? 128 + constants.signals[signal] : status);
});
