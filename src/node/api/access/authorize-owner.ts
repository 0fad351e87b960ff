import { type Authorize } from '../http/api-request.js';
import { refuseWebPage } from './refuse-web-page.js';

/**
 * Who may open the socket may do everything: its mode is what keeps others out.
 *
 * Requests that a browser makes for a page are refused nevertheless: a proxy that somebody put before the socket must
 * not let the pages he looks at act for him.
 */
export const authorizeOwner: Authorize = ({ headers }) => refuseWebPage(headers, { ownPagesToo: true });
