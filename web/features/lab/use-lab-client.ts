/** Sets the SDK of this page up for the lab: all that it can send is on. */

import { addIntegration, consoleLoggingIntegration, getClient } from '@sentry/nextjs'
import { useEffect } from 'react'

export function useLabClient(): void {
  useEffect(() => {
    const options = getClient()?.getOptions()
    if (!options) return
    delete options.beforeSendLog
    delete options.beforeSendMetric
    addIntegration(consoleLoggingIntegration({ levels: ['info'] }))
  }, [])
}
