import { type Authorize, type Verdict } from '../http/api-request.js';
import { forbidden, MASTERS, readBearer, unauthorized, verbOf } from './node-access.js';
import { findNodePath } from '../node/node-paths.js';
import { refuseWebPage } from './refuse-web-page.js';
import { ANONYMOUS, type TokenTable } from './token-table.js';

/** Options of {@link authorizeKnown}. */
export interface AuthorizeKnownOptions {
  /** Read for each request, as tokens may change. */
  readonly tokens: () => TokenTable;
  /** A client without credentials may see health. */
  readonly isHealthOpen: boolean;
  /**
   * With a certificate, only members of system:masters may do anything; otherwise everyone whom the authority
   * signed.
   */
  readonly onlyMasters: boolean;
}

/**
 * Admits clients with a token or a certificate, with the kubelet's errors.
 *
 * 401 means an unknown token, 403 a forbidden request. A token makes its holder the owner, as its file is
 * podloop's alone. A certificate may be one of many that a cluster's authority has given to all kinds of
 * users.
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
