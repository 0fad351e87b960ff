/** The value of `Authorization` or `Proxy-Authorization` for a user name and a password. It is a secret. */
export function basicAuthorization(username: string, password: string): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
