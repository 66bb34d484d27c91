// Package script is the processor that runs a JavaScript function of the user
// over nodes or over a file.
//
// A [Step] is made of its params and run on a batch of nodes or a [Document].
// The script gets an envelope and an api object, and its result is read
// strictly. Where text and resources come from is the caller's: a [Loader]
// gets sources, a [Host] answers the calls that leave the sandbox.
//
// A script is hostile. The usual [Runner] is a [Pool] of worker processes that
// are killed when they take too much time or memory, whatever the script does.
// The workers are the same executable: its main function begins with [Main].
// [InProcess] is for programs that cannot do that and trust their scripts.
package script
