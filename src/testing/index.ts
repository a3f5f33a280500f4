export { layerTest, type TestServerOptions } from "./layerTest.ts"
export { startTestServer, type RunningTestServer } from "./startTestServer.ts"
export { TestServer, TestServerProblem, type TestMail } from "./TestServer.ts"
