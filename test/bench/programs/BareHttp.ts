import { createServer } from "node:http"

// The least that Node can be: what a start and an idle process cost without any service.

createServer((_, response) => {
  response.writeHead(200, { "content-length": 2 }).end("ok")
}).listen(Number(process.argv[2]), "127.0.0.1")
