// Package sandrone is the vocabulary of the gateway: the node, the warning,
// the error, the report and the settings, as plain values.
//
// A [Node] is one proxy server with its credentials, in a form that belongs to
// no client. Parsers produce nodes, processors transform them, renderers
// consume them. What could not be carried over rides along as a [Warning];
// what stopped the work is an [Error]; a [Report] sums one operation up.
//
// The package holds values and their JSON forms only. It imports no other
// package of this module, so that every other package can speak its words.
package sandrone
