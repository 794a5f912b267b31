/** Tells whoever starts and watches web that it answers. */

export function GET(): Response {
  return new Response('ok')
}
