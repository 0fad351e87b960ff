import { type Authorize, type Verdict } from '../http/api-request.js';
import { forbidden, MASTERS, readBearer, unauthorized, verbOf } from './node-access.js';
import { findNodePath } from '../node/node-paths.js';
import { refuseWebPage } from './refuse-web-page.js';
import { ANONYMOUS, type TokenTable } from './token-table.js';

/** What {@link authorizeKnown} goes by. */
export interface AuthorizeKnownOptions {
  /** Asked for each request: tokens may change. */
  readonly tokens: () => TokenTable;
  /** Who has shown nothing may see health. */
  readonly isHealthOpen: boolean;
  /** Of those with a certificate only members of system:masters may do anything; else all that the authority vouches for. */
  readonly onlyMasters: boolean;
}

/**
 * Lets those in who show a token or a certificate, in the kubelet's words: 401 for a token that nobody has, 403 for who
 * may not see what he asks for.
 *
 * A token makes its holder the owner: its file is podloop's alone. A certificate may be one of many that a cluster's
 * authority has given to all kinds of people.
 */
export function authorizeKnown({ tokens, isHealthOpen, onlyMasters }: AuthorizeKnownOptions): Authorize {
  return ({ headers, template, method, path }, { certificate }): Verdict => {
    const ofPage = refuseWebPage(headers);
    if (ofPage !== undefined) return ofPage;
    const isCertified = certificate !== undefined && certificate.name !== '';
    if (isCertified && (!onlyMasters || certificate.groups.includes(MASTERS))) return undefined;
    if (headers['authorization'] !== undefined) {
      const token = readBearer(headers);
      return token !== undefined && tokens().find(token) !== undefined ? undefined : unauthorized();
    }
    const verb = verbOf(method, template);
    const subresources = findNodePath(path)?.subresources ?? ['proxy'];
    if (isCertified) return forbidden(certificate, verb, subresources);
    if (!isHealthOpen) return unauthorized();
    return findNodePath(template)?.isHealth === true ? 'anonymous' : forbidden(ANONYMOUS, verb, subresources);
  };
}
