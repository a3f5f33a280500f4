#!/usr/bin/env node
// The command of the package. What it loads is syntax that old Nodes cannot read, so they are refused first.
require("./require-node.cjs")
import("../../dist/main.js")
