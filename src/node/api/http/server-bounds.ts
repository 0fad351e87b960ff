/**
 * How much of a server its clients may use at a time.
 *
 * Everything that a client could request without end is limited here, so that neither an unidentified client
 * nor a busy one locks out the others:
 *
 * ```
 * all connections            2,048   the next one is closed unheard, and idle ones make room for who comes then
 *  ├─ of strangers             512   the oldest one of the peer that has most of them goes for the next one
 *  ├─ that follow a log      1,000   429; more than a node has containers, whoever follows them all
 *  └─ with a watch, /events    100   429
 * ```
 *
 * A stranger is an unidentified client: it is negotiating TLS, has requested nothing yet, or nothing that it
 * gets. A trusted certificate ends that, and so does an accepted request. The time for that is limited as
 * well: see `make-http-server`.
 *
 * A kubelet only has the limits of its process. These limits allow an API server that opens the logs of all
 * containers of a large node at once, whose connections count as strangers' until their handshakes are done.
 *
 * @module
 */

/** Connections of one server; more are closed at once. */
export const MAX_CONNECTIONS = 2_048;
/** Limit for those of strangers. */
export const MAX_STRANGERS = 512;
/** Headers of one request; more are refused. */
export const MAX_HEADERS = 200;
/** Followed logs, over all servers. */
export const MAX_FOLLOWED_LOGS = 1_000;
/** Watches of pods and followers of /events, over all servers. */
export const MAX_WATCHES = 100;
