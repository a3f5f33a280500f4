import { assert, describe, it } from "@effect/vitest"
import { guessLanguage } from "../../src/web/editor/Highlighting.ts"
import { renderMarkdown } from "../../src/web/editor/MarkdownPreview.ts"

describe("the language of a text", () => {
  it("is guessed from the field's name first", () => {
    for (const [field, language] of [
      ["README.md", "markdown"],
      ["config_yaml", "yaml"],
      ["command", "shell"],
      ["setup.ts", "typescript"],
      ["report_sql", "sql"]
    ] as const) {
      assert.strictEqual(guessLanguage(field, '{"a":1}'), language, field)
    }
  })

  it("is guessed from the content where the name says nothing", () => {
    for (const [content, language] of [
      ["#!/usr/bin/env python3\nprint(1)", "python"],
      ["#!/bin/sh\nls", "shell"],
      ['{"a": 1}', "json"],
      ["<!DOCTYPE html><p>", "html"],
      ["# Title\r\n\r\ntext", "markdown"],
      ["- one\n- two\n", "markdown"],
      ["name: x\nversion: 2\n", "yaml"],
      ["[package]\nname = 'x'", "toml"],
      ["SELECT a FROM b", "sql"],
      ["def f(x):\n    return x", "python"],
      ["interface A {\n  b: string\n}", "typescript"],
      ["const a = () => 1;", "javascript"],
      ["body { color: red; }", "css"],
      ["curl https://example.com", "shell"],
      ["Buy milk tomorrow.", undefined]
    ] as const) {
      assert.strictEqual(guessLanguage("value", content), language, content)
    }
  })
})

describe("a text that is made to be slow to guess", () => {
  it("is guessed all the same", () => {
    for (const part of [
      "word ",
      "a-",
      "a: b\n - c\n",
      "\n",
      " ",
      "[",
      "[a]\n",
      "**a",
      "- ",
      "import a, ",
      "a{b:",
      "FROM a\n",
      ">"
    ]) {
      guessLanguage("value", part.repeat(5000))
    }
  })
})

describe("the preview of Markdown", () => {
  it("shows HTML as text", () => {
    const html = renderMarkdown('<script>alert(1)</script> <img src=x onerror="alert(1)">')
    assert.notMatch(html, /<script|<img/)
    assert.include(html, "&lt;script&gt;")
  })

  it("links only to the web and to mail, without telling where from", () => {
    const html = renderMarkdown(
      "[a](https://example.com) [b](mailto:a@example.com) [c](javascript:alert%281%29) [d](data:text/html,x) [e](/x)"
    )
    assert.deepStrictEqual(
      [...html.matchAll(/href="([^"]*)"/g)].map((match) => match[1]),
      ["https://example.com", "mailto:a@example.com"]
    )
    assert.strictEqual(html.match(/rel="noopener noreferrer"/g)?.length, 2)
  })

  it("loads no image, and shows where it would come from", () => {
    const html = renderMarkdown("![A cat](https://example.com/cat.png)")
    assert.notInclude(html, "<img")
    assert.include(
      html,
      '<a href="https://example.com/cat.png" rel="noopener noreferrer" target="_blank">Image: A cat</a>'
    )
  })

  it("aligns table cells without inline styles", () => {
    const html = renderMarkdown("| a |\n|--:|\n| 1 |")
    assert.notInclude(html, "style=")
    assert.include(html, 'class="align-right"')
  })
})
