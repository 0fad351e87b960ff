import { definePublishingChannel } from './publishing-channel.js';

/** Authentication (`authn`, by a TokenReview) or authorization (`authz`, by a SubjectAccessReview). */
export type AuthQuestionKind = 'authn' | 'authz';

/** One review that was sent to an API server, or could not be sent; each attempt counts. */
export interface AuthReviewEnd {
  readonly kind: AuthQuestionKind;
  /** HTTP's status; undefined if there was no answer. */
  readonly code: number | undefined;
  readonly durationMs: number;
}

/** See {@link AuthReviewEnd}. */
export const authReviewEnded = definePublishingChannel<AuthReviewEnd>('podloop:auth:review:ended');

/** An answer was returned that may come from the cache. */
export interface AuthAnswerGiven {
  readonly kind: AuthQuestionKind;
  /** Whether it came from the cache. */
  readonly wasKept: boolean;
  /** Whether there was no answer at all. */
  readonly failed: boolean;
  readonly durationMs: number;
}

/** See {@link AuthAnswerGiven}. */
export const authAnswerGiven = definePublishingChannel<AuthAnswerGiven>('podloop:auth:answer:given');

/**
 * An uncached answer was fetched from an API server, including retries; published once for all its waiters.
 */
export interface AuthFetchEnd {
  readonly kind: AuthQuestionKind;
  readonly failed: boolean;
}

/** See {@link AuthFetchEnd}. */
export const authFetchEnded = definePublishingChannel<AuthFetchEnd>('podloop:auth:fetch:ended');
