/**
 * How much of a server its clients may have at one time. What can be asked for without end by whoever gets at the port is bounded
 * here, so that neither a stranger nor one busy client keeps the others out:
 *
 * ```
 * all connections            2,048   the next one is closed unheard, and idle ones make room for who comes then
 *  ├─ of strangers             512   the oldest one of the peer that has most of them goes for the next one
 *  ├─ that follow a log      1,000   429; more than a node has containers, whoever follows them all
 *  └─ with a watch, /events    100   429
 * ```
 *
 * A stranger is who has not shown who he is: he is about to agree upon TLS, has asked for nothing yet, or for nothing that he
 * gets. A certificate that an authority vouches for ends that, and so does a request that is let in. How long he may take is
 * bounded as well: see `make-http-server`.
 *
 * A kubelet has no such bounds but those of its process. These let an API server through that opens the logs of all containers
 * of a large node at once: its connections are strangers' for as long as their handshakes take.
 *
 * @module
 */

/** Connections of one server; more are closed at once. */
export const MOST_CONNECTIONS = 2_048;
/** Of them those of strangers. */
export const MOST_STRANGERS = 512;
/** Headers of one request; what has more is refused. */
export const MOST_HEADERS = 200;
/** Followed logs, over all servers. */
export const MOST_FOLLOWED_LOGS = 1_000;
/** Watches of pods and followers of /events, over all servers. */
export const MOST_WATCHES = 100;
