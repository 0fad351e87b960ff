import { existsSync } from 'node:fs';

/** Where Debian and others have it. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The Chromium of this machine; undefined if there is none. */
export function findBrowser(): string | undefined {
  return PLACES.find((path) => existsSync(path));
}
