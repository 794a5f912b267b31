/** What became of each report, newest first, read out as it happens. */

import type { Report } from '../lib/use-reports.ts'

export function Reports({ reports, labelledBy }: { reports: Report[]; labelledBy: string }) {
  return (
    <div className="reports" aria-live="polite">
      {reports.length === 0 && <p className="note">Nothing has been reported from this tab yet.</p>}
      <ul aria-labelledby={labelledBy}>
        {reports.map((report) => (
          <li key={report.id}>
            <strong>{report.what}</strong>
            <span className={`outcome ${moodOf(report)}`}>{tell(report)}</span>
            <span className="event">
              Event <code>{report.id}</code>
            </span>
          </li>
        ))}
      </ul>
    </div>
  )
}

function isAccepted({ outcome }: Report): boolean {
  return typeof outcome === 'number' && outcome >= 200 && outcome < 300
}

function moodOf(report: Report): string {
  if (report.outcome === 'sending') return ''
  return isAccepted(report) ? 'good' : 'bad'
}

function tell(report: Report): string {
  if (report.outcome === 'sending') return 'on its way'
  if (report.outcome === 'unanswered')
    return 'not taken: no answer, or this browser was asked to hold reports back'
  return isAccepted(report)
    ? `${report.outcome === 202 ? 'kept by this site, and delivered later' : 'accepted by this site'} (${report.outcome})`
    : `not taken by this site (${report.outcome})`
}
