/** One add and one query over REST, in the languages that most people have at hand. The key is an environment variable. */
export const restExamples = (baseUrl: string): ReadonlyArray<readonly [language: string, text: string]> => [
  [
    "curl",
    `export AGENT_MEMORY_API_KEY=svc_live_…

curl '${baseUrl}/v1/notes' \\
  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d '{"topic":"coffee","text":"Ada drinks it black"}'

curl -G '${baseUrl}/v1/notes' \\
  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY" \\
  --data-urlencode 'filter={"topic":"coffee"}'`
  ],
  [
    "TypeScript",
    `const notes = "${baseUrl}/v1/notes"
const headers = {
  authorization: \`Bearer \${process.env.AGENT_MEMORY_API_KEY}\`,
  "content-type": "application/json"
}

await fetch(notes, {
  method: "POST",
  headers,
  body: JSON.stringify({ topic: "coffee", text: "Ada drinks it black" })
})

const filter = encodeURIComponent(JSON.stringify({ topic: "coffee" }))
const answer = await fetch(\`\${notes}?filter=\${filter}\`, { headers })
console.log(await answer.json())`
  ],
  [
    "Python",
    `import json, os, urllib.parse, urllib.request

notes = "${baseUrl}/v1/notes"
headers = {
    "Authorization": f"Bearer {os.environ['AGENT_MEMORY_API_KEY']}",
    "Content-Type": "application/json",
}

row = json.dumps({"topic": "coffee", "text": "Ada drinks it black"}).encode()
urllib.request.urlopen(urllib.request.Request(notes, data=row, headers=headers))

query = urllib.parse.urlencode({"filter": json.dumps({"topic": "coffee"})})
with urllib.request.urlopen(urllib.request.Request(f"{notes}?{query}", headers=headers)) as answer:
    print(json.load(answer))`
  ]
]
