/** Returns the outcome of an envelope to any client that has its receipt token. */

import type { Receipt } from 'contract/admin-api'
import { Allowance } from 'contract/allowance'
import { findReceipt } from '../../../../lib/admin-client.ts'
import { networkOf } from '../../../../lib/client-address.ts'
import { config } from '../../../../lib/config.ts'

const TOKEN = /^[0-9a-f]{32}$/

const allowance = new Allowance({ perAddress: 60, inAll: 600, windowMs: 60_000 }, Date.now)

export async function GET(request: Request): Promise<Response> {
  const token = new URL(request.url).searchParams.get('token') ?? ''
  if (!TOKEN.test(token)) return problem(400, 'Pass ?token= with the receipt token of a response.')
  const settings = config()
  if (!settings.adminToken || settings.tunnelAdmins.length === 0)
    return problem(503, 'This site shows no receipts: set OPERATOR_PASSWORD, and TUNNEL_ADMIN for web.')
  if (!allowance.take(networkOf(request.headers))) return problem(429, 'Too many requests; wait a minute.')
  const receipt = await findReceipt(settings, token)
  return receipt
    ? Response.json(forVisitors(receipt), { headers: { 'Cache-Control': 'no-store' } })
    : problem(404, 'No receipt has this token. Receipts are kept for at most 10 minutes.')
}

/** Removes the fields for operators only: replica, project and SDK. */
function forVisitors(receipt: Receipt) {
  const { time, items, bytes, outcome, reason, status, upstream_status, duration_ms, upstream_duration_ms } =
    receipt
  return { time, items, bytes, outcome, reason, status, upstream_status, duration_ms, upstream_duration_ms }
}

function problem(status: number, detail: string): Response {
  return Response.json({ detail }, { status, headers: { 'Cache-Control': 'no-store' } })
}
