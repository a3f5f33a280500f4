// Exits with 0 when a PostgreSQL server at 127.0.0.1:5432 lets user postgres in without a password.
import { connect } from "node:net"

const parameters = Buffer.from("user\0postgres\0database\0postgres\0\0", "latin1")
const startup = Buffer.alloc(8 + parameters.length)
startup.writeInt32BE(startup.length, 0)
startup.writeInt32BE(196608, 4)
parameters.copy(startup, 8)

const finish = (code) => process.exit(code)
const socket = connect({ host: "127.0.0.1", port: 5432, timeout: 2000 }, () => socket.write(startup))
socket.on("error", () => finish(1))
socket.on("timeout", () => finish(1))
socket.on("close", () => finish(1))
socket.on("data", (answer) => finish(answer.toString("latin1", 0, 1) === "R" && answer.readInt32BE(5) === 0 ? 0 : 1))
