//go:build !linux

package worker

import "os"

func executable() (string, error) { return os.Executable() }

// rss is not known here: the worker watches itself.
type rss struct{}

func openRSS(int) *rss               { return nil }
func (*rss) resident() (int64, bool) { return 0, false }
func (*rss) close()                  {}
func closeDoors()                    {}
func limitData(_ *rss, _ int64)      {}
