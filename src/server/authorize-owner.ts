import { ApiError } from './api-error.js';
import { type Authorize } from './api-request.js';

/**
 * Who may open the socket may do everything: its mode is what keeps others out.
 *
 * Requests that a browser makes for a page are refused nevertheless: a proxy that somebody put before the socket must
 * not let the pages he looks at act for him.
 */
export const authorizeOwner: Authorize = ({ headers }) => {
  const isOfPage = headers['origin'] !== undefined || headers['sec-fetch-site'] !== undefined;
  return isOfPage ? new ApiError('Forbidden', 'requests of web pages are not answered') : undefined;
};
