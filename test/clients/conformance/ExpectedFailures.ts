import type { Revision } from "./Suite.ts"

const resources = "The service offers tools only, no resources."
const prompts = "The service offers tools only, no prompts."
const completion = "There are no prompts or resources whose arguments could be completed."
const logging = "Log messages to clients are no part of the service, and end with 2025-11-25."
const sampling = "No tool asks the client's model: the service needs no sampling."
const elicitation = "No tool asks the person in between: the service needs no elicitation."
const inputs = "No tool waits for input in between: each call is answered as it came."
const headers = "No argument of a tool is repeated in a header."

/**
 * The checks that fail with the suite's tools in the place of the product's, each because the suite wants a server that
 * offers more than this one: by `scenario: check`, why.
 */
export const expectedFailures: Readonly<Record<Revision, Readonly<Record<string, string>>>> = {
  "2025-11-25": {
    "completion-complete: completion-complete": completion,
    "elicitation-sep1034-defaults: elicitation-sep1034-general": elicitation,
    "elicitation-sep1330-enums: elicitation-sep1330-general": elicitation,
    "logging-set-level: logging-set-level": logging,
    "prompts-get-embedded-resource: prompts-get-embedded-resource": prompts,
    "prompts-get-simple: prompts-get-simple": prompts,
    "prompts-get-with-args: prompts-get-with-args": prompts,
    "prompts-get-with-image: prompts-get-with-image": prompts,
    "prompts-list: prompts-list": prompts,
    "resources-list: resources-list": resources,
    "resources-read-binary: resources-read-binary": resources,
    "resources-read-text: resources-read-text": resources,
    "resources-subscribe: resources-subscribe": resources,
    "resources-templates-read: resources-templates-read": resources,
    "resources-unsubscribe: resources-unsubscribe": resources,
    "tools-call-elicitation: tools-call-elicitation": elicitation,
    "tools-call-sampling: tools-call-sampling": sampling,
    "tools-call-with-logging: tools-call-with-logging": logging
  },
  "2026-07-28": {
    "caching: sep-2549-prompts-list-caching-hints": prompts,
    "caching: sep-2549-resources-list-caching-hints": resources,
    "caching: sep-2549-resources-templates-list-caching-hints": resources,
    "completion-complete: completion-complete": completion,
    "http-custom-header-server-validation: sep-2243-server-decode-base64": headers,
    "http-custom-header-server-validation: sep-2243-server-no-xmcp-tool": headers,
    "http-custom-header-server-validation: sep-2243-server-reject-invalid-param-chars": headers,
    "http-custom-header-server-validation: sep-2243-server-reject-param-mismatch": headers,
    "http-custom-header-server-validation: sep-2243-server-validate-param-match": headers,
    "input-required-result-basic-elicitation: sep-2322-elicitation-incomplete": elicitation,
    "input-required-result-basic-list-roots: sep-2322-list-roots-incomplete": inputs,
    "input-required-result-basic-sampling: sep-2322-sampling-incomplete": sampling,
    "input-required-result-capability-check: sep-2322-respect-client-capabilities": inputs,
    "input-required-result-multi-round: sep-2322-multi-round-r1": inputs,
    "input-required-result-multiple-input-requests: sep-2322-multiple-inputs-incomplete": inputs,
    "input-required-result-non-tool-request: sep-2322-non-tool-incomplete": prompts,
    "input-required-result-request-state: sep-2322-request-state-incomplete": inputs,
    "input-required-result-result-type: sep-2322-result-type-included": inputs,
    "input-required-result-tampered-state: sep-2322-reject-tampered-state": inputs,
    "prompts-get-embedded-resource: prompts-get-embedded-resource": prompts,
    "prompts-get-simple: prompts-get-simple": prompts,
    "prompts-get-with-args: prompts-get-with-args": prompts,
    "prompts-get-with-image: prompts-get-with-image": prompts,
    "prompts-list: prompts-list": prompts,
    "resources-list: resources-list": resources,
    "resources-read-binary: resources-read-binary": resources,
    "resources-read-text: resources-read-text": resources,
    "resources-templates-read: resources-templates-read": resources,
    "server-stateless: sep-2575-http-server-no-independent-requests-on-stream": elicitation,
    "server-stateless: sep-2575-server-no-log-without-loglevel": logging
  }
}
