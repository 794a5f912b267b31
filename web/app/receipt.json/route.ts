/** Returns the outcome of an envelope to its sender, by the receipt token of the response and by nothing else. */

import type { Receipt } from 'tunnel/contract'
import type { VisitorReceipt } from '../../features/receipt.ts'
import { findReceipt } from '../../lib/admin-client.ts'
import { networkOf } from '../../lib/client-address.ts'
import { config } from '../../lib/config.ts'
import { createAllowance } from '../../lib/rate-limiter.ts'

const TOKEN = /^[0-9a-f]{32}$/

const mayAsk = createAllowance({ perAddress: 60, inAll: 600, windowMs: 60_000 }, Date.now)

export async function GET(request: Request): Promise<Response> {
  const token = new URL(request.url).searchParams.get('token') ?? ''
  if (!TOKEN.test(token)) return refuse(400, 'Pass ?token= with the receipt token of a response.')
  const settings = config()
  if (!settings.adminToken || settings.tunnelAdmins.length === 0)
    return refuse(503, 'This site shows no receipts: set OPERATOR_PASSWORD, and TUNNEL_ADMIN for web.')
  if (!mayAsk(networkOf(request.headers))) return refuse(429, 'Too many requests; wait a minute.')
  const receipt = await findReceipt(settings, token)
  return receipt
    ? Response.json(forVisitors(receipt), { headers: { 'Cache-Control': 'no-store' } })
    : refuse(404, 'No receipt has this token. Receipts are kept for at most 10 minutes.')
}

function forVisitors(receipt: Receipt): VisitorReceipt {
  const { id, project, event_id, sdk, admitted_after_ms, replica, flags, ...forSender } = receipt
  return forSender
}

function refuse(status: number, detail: string): Response {
  return Response.json({ detail }, { status, headers: { 'Cache-Control': 'no-store' } })
}
