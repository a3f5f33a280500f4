import { Context } from "effect"

/** The id of the request being answered: in its `X-Request-Id`, its problem body and its log lines. */
export const RequestId = Context.Reference<string>("agent-memory/server/http/RequestId", { defaultValue: () => "" })
