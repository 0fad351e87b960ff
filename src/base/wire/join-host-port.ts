/** Joins host and port: `10.88.0.2:80`, `[fd00::2]:80`. */
export function joinHostPort({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
