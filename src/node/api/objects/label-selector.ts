import { type LabelMatcher, parseLabelSelector, SelectorError } from '#kube/fields/label-selector.js';
import { badRequest } from '../http/api-error.js';

/** The matcher of a request's `labelSelector`; without one everything matches. Throws BadRequest. */
export function readLabelSelector(query: URLSearchParams): LabelMatcher {
  try {
    return parseLabelSelector(query.get('labelSelector') ?? '');
  } catch (error) {
    throw error instanceof SelectorError ? badRequest(error.message) : error;
  }
}
