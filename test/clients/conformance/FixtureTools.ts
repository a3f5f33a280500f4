import {
  MissingRequiredClientCapabilityError,
  type CallToolResult,
  type ServerContext
} from "@modelcontextprotocol/server"
import { setTimeout } from "node:timers/promises"

/** A 1×1 PNG. */
const image = {
  type: "image",
  mimeType: "image/png",
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
} as const

/** A WAV file without any sample. */
const audio = {
  type: "audio",
  mimeType: "audio/wav",
  data: "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
} as const

const text = (text: string) => ({ type: "text", text }) as const

const answers = (...content: CallToolResult["content"]) => ({ content })

/** What one of the suite's tools does. */
export interface FixtureTool {
  readonly name: string
  readonly inputSchema: { readonly type: "object"; readonly [keyword: string]: unknown }
  readonly run: (context: ServerContext) => CallToolResult | Promise<CallToolResult>
}

const noArguments = { type: "object", properties: {} } as const

const tool = (name: string, run: FixtureTool["run"]): FixtureTool => ({ name, inputSchema: noArguments, run })

/** The tools that the conformance suite calls, so far as they need no more than tools. */
export const fixtureTools: ReadonlyArray<FixtureTool> = [
  tool("test_simple_text", () => answers(text("This is a simple text response for testing."))),
  tool("test_image_content", () => answers(image)),
  tool("test_audio_content", () => answers(audio)),
  tool("test_embedded_resource", () =>
    answers({
      type: "resource",
      resource: {
        uri: "test://embedded-resource",
        mimeType: "text/plain",
        text: "This is an embedded resource content."
      }
    })
  ),
  tool("test_multiple_content_types", () =>
    answers(text("Multiple content types test:"), image, {
      type: "resource",
      resource: {
        uri: "test://mixed-content-resource",
        mimeType: "application/json",
        text: '{"test":"data","value":123}'
      }
    })
  ),
  tool("test_error_handling", () => ({
    ...answers(text("This tool intentionally returns an error for testing")),
    isError: true
  })),
  tool("test_tool_with_progress", async ({ mcpReq }) => {
    const progressToken = mcpReq._meta?.progressToken
    for (const progress of [0, 50, 100]) {
      if (progressToken !== undefined)
        await mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, total: 100 } })
      if (progress < 100) await setTimeout(20)
    }
    return answers(text("Done."))
  }),
  tool("test_missing_capability", () => {
    throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { sampling: {} } })
  }),
  {
    name: "json_schema_2020_12_tool",
    inputSchema: {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      $defs: {
        address: {
          $anchor: "addressDef",
          type: "object",
          properties: { street: { type: "string" }, city: { type: "string" } }
        }
      },
      properties: {
        name: { type: "string" },
        address: { $ref: "#/$defs/address" },
        contactMethod: { type: "string", enum: ["phone", "email"] },
        phone: { type: "string" },
        email: { type: "string" }
      },
      allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
      if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
      // oxlint-disable-next-line unicorn/no-thenable
      then: { required: ["phone"] },
      else: { required: ["email"] },
      additionalProperties: false
    },
    run: () => answers(text("Done."))
  }
]
