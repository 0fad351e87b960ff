import { type Authorize } from '../http/api-request.js';
import { refuseWebPage } from './refuse-web-page.js';

/**
 * Whoever can open the socket may do everything: its mode keeps others out.
 *
 * Requests that a browser makes for a page are refused nevertheless: if somebody has put a proxy before the
 * socket, the pages in the browser must not act for the user.
 */
export const authorizeOwner: Authorize = ({ headers }) => refuseWebPage(headers, { ownPagesToo: true });
