/** Loader that removes the log messages of the browser's SDK. The minifier drops code only behind a literal `false`. */

module.exports = () => 'export const DEBUG_BUILD = false\n'
