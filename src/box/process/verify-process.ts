/**
 * Lines of a shell script that do something else unless this very process still runs: a pid alone may be somebody
 * else's by now. Between this look and what follows it lie microseconds.
 *
 * @param pid its number, or the shell's word for it.
 * @param startTicks see ProcessIdentity; or the shell's word for it.
 */
export function renderVerify(pid: number | string, startTicks: string, otherwise: string): string {
  return `stat=
{ read -r stat </proc/${pid}/stat; } 2>/dev/null
is_same() { [ "\${20}" = ${startTicks} ]; }
is_same \${stat##*) } || { ${otherwise}; }
`;
}
