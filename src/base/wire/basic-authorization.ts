/** The value of `Authorization` or `Proxy-Authorization` for who is known by a name and a password: a secret. */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
