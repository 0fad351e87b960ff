import { definePublishingChannel } from './publishing-channel.js';

/** Who somebody is (`authn`, by a TokenReview), or whether he may do something (`authz`, by a SubjectAccessReview). */
export type AuthQuestionKind = 'authn' | 'authz';

/** One review that was sent to an API server, or could not be; each try is one. */
export interface AuthReviewEnd {
  readonly kind: AuthQuestionKind;
  /** HTTP's; undefined when there was no answer. */
  readonly code: number | undefined;
  readonly durationMs: number;
}

/** See {@link AuthReviewEnd}. */
export const authReviewEnded = definePublishingChannel<AuthReviewEnd>('podloop:auth:review:ended');

/** Somebody wanted an answer that might have been kept. */
export interface AuthAnswerGiven {
  readonly kind: AuthQuestionKind;
  /** It was there. */
  readonly wasKept: boolean;
  /** Nobody could tell. */
  readonly failed: boolean;
  readonly durationMs: number;
}

/** See {@link AuthAnswerGiven}. */
export const authAnswerGiven = definePublishingChannel<AuthAnswerGiven>('podloop:auth:answer:given');

/** An API server was asked for an answer that was not kept, with all tries that it took; once for all who waited for it. */
export interface AuthFetchEnd {
  readonly kind: AuthQuestionKind;
  readonly failed: boolean;
}

/** See {@link AuthFetchEnd}. */
export const authFetchEnded = definePublishingChannel<AuthFetchEnd>('podloop:auth:fetch:ended');
