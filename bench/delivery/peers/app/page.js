/** Page that the server renders for each visitor. */

import { connection } from 'next/server'

export default async function Page() {
  await connection()
  const articles = Array.from({ length: 200 }, (_, i) => `Article ${i}`)
  return (
    <main>
      <h1>A shop</h1>
      <ul>
        {articles.map((name) => (
          <li key={name}>{name}</li>
        ))}
      </ul>
    </main>
  )
}
