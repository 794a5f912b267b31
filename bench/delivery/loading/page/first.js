/** First script of each page. It throws the error that the URL names. */

const message = new URLSearchParams(location.search).get('error')
if (message) throw new Error(message)
