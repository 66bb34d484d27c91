package core

import (
	"encoding/binary"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2"

	"github.com/sandrone-gateway/sandrone"
)

// Geo data comes in two forms: MaxMind databases of addresses, and lists of
// entries by code in the protocol buffers of V2Ray. Clients look for their file
// by its name in any case; Xray knows the lower case only.
const (
	siteFile = "geosite.dat"
	ipFile   = "geoip.dat"
	mmdbFile = "geoip.metadb"
	asnFile  = "asn.mmdb"
)

// mmdbNames are the names under which a client takes a database of countries.
var mmdbNames = []string{mmdbFile, "country.mmdb", "geoip.db"}

const maxGeoData = 256 << 20 // bytes of a held list that is looked through

// always is the code that mihomo looks for to tell whether a list is sound.
const always = "CN"

// geoData puts the geo data that a file needs into a directory: links to what
// is held, and stand-ins for the rest. A client that misses a file would
// download it; one that misses a code would refuse a good file.
func (c *Cores) geoData(dir *Directory, d *document) (warnings []sandrone.Warning, err error) {
	warn := func(lack string) {
		warnings = append(warnings, sandrone.Warning{Code: sandrone.WarnVerifyGeoData, Message: lack + "; stand-ins took its place"})
	}
	put := func(name string, needed bool, fit func(path string) (lack string), standIn func() []byte, names ...string) {
		if needed {
			lack := "no " + name + " is held"
			if path := c.heldData(append(names, name)...); path != "" {
				if lack = fit(path); lack == "" && os.Symlink(path, filepath.Join(dir.Path, strings.ToLower(filepath.Base(path)))) == nil {
					return
				}
				if lack == "" {
					lack = "the held " + name + " cannot be linked"
				}
			}
			warn(lack)
		}
		if _, failed := dir.Write(name, standIn()); err == nil {
			err = failed
		}
	}
	sites := slices.Sorted(maps.Keys(d.sites))
	ips := slices.Sorted(maps.Keys(d.ips))
	put(siteFile, len(sites) > 0, func(path string) string { return lacking(path, siteFile, sites) }, func() []byte { return siteList(d.sites) })
	put(ipFile, d.byDat && len(ips) > 0, func(path string) string { return lacking(path, ipFile, ips) }, func() []byte { return ipList(ips) })
	put(mmdbFile, !d.byDat && len(ips) > 0, unreadable, func() []byte { return emptyMMDB("Meta-geoip0") }, mmdbNames...)
	put(asnFile, d.asn, unreadable, func() []byte { return emptyMMDB("GeoLite2-ASN") })
	return warnings, err
}

// heldData returns the path of the first of the names in the data directory,
// in any case, or "".
func (c *Cores) heldData(names ...string) string {
	if c.held == "" {
		return ""
	}
	files, err := os.ReadDir(c.held)
	if err != nil {
		return ""
	}
	for _, name := range names {
		for _, file := range files {
			if strings.EqualFold(file.Name(), name) && !file.IsDir() {
				return filepath.Join(c.held, file.Name())
			}
		}
	}
	return ""
}

// lacking says what a held list lacks of the codes, or "".
func lacking(path, name string, codes []string) string {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxGeoData {
		return "the held " + name + " cannot be read"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "the held " + name + " cannot be read"
	}
	held, ok := listCodes(text)
	if !ok {
		return "the held " + name + " is no list of codes"
	}
	var missing []string
	for _, code := range append([]string{always}, codes...) {
		if !held[code] && !slices.Contains(missing, code) {
			missing = append(missing, code)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	const named = 5
	text2 := strings.Join(missing[:min(named, len(missing))], ", ")
	if len(missing) > named {
		text2 += ", …"
	}
	return "the held " + name + " lacks " + text2
}

// unreadable says that a held database cannot be opened, or "".
func unreadable(path string) string {
	db, err := maxminddb.Open(path)
	if err != nil {
		return "the held " + strings.ToLower(filepath.Base(path)) + " is no database"
	}
	_ = db.Close()
	return ""
}

// Fields of the messages GeoIPList, GeoSiteList and of what they hold.
const (
	listEntry = 1

	entryCode = 1
	entryItem = 2

	domainType, domainValue, domainAttribute = 1, 2, 3
	attributeKey, attributeBool              = 1, 2
	cidrAddress, cidrPrefix                  = 1, 2

	fullDomain = 3 // of domainType
)

// listCodes reads the codes of a list, upper case.
func listCodes(list []byte) (codes map[string]bool, ok bool) {
	codes = make(map[string]bool)
	for len(list) > 0 {
		var entry, code []byte
		if entry, list, ok = cutText(list, listEntry); !ok {
			return nil, false
		}
		if code, _, ok = cutText(entry, entryCode); !ok {
			return nil, false
		}
		codes[strings.ToUpper(string(code))] = true
	}
	return codes, true
}

// siteList is a list in which every code has one domain, which nobody has, with
// all attributes that are asked for.
func siteList(codes map[string]map[string]bool) (list []byte) {
	names := slices.Sorted(maps.Keys(codes))
	if codes[always] == nil {
		names = append(names, always)
	}
	for _, code := range names {
		domain := number(nil, domainType, fullDomain)
		domain = text(domain, domainValue, strings.ToLower(strings.Trim(code, "-!"))+".invalid")
		for _, a := range slices.Sorted(maps.Keys(codes[code])) {
			domain = text(domain, domainAttribute, string(number(text(nil, attributeKey, a), attributeBool, 1)))
		}
		list = text(list, listEntry, string(text(text(nil, entryCode, code), entryItem, string(domain))))
	}
	return list
}

// ipList is a list in which every code has one block of addresses, which is
// reserved for documentation.
func ipList(codes []string) (list []byte) {
	if !slices.Contains(codes, always) {
		codes = append(codes, always)
	}
	block := number(text(nil, cidrAddress, string([]byte{192, 0, 2, 0})), cidrPrefix, 24)
	for _, code := range codes {
		list = text(list, listEntry, string(text(text(nil, entryCode, code), entryItem, string(block))))
	}
	return list
}

// Protocol buffers write a field as its number and wire type in one varint, then
// a varint, or a length and as many bytes.
const (
	varintWire = 0
	bytesWire  = 2
)

func number(b []byte, field, n uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<3|varintWire), n)
}

func text(b []byte, field uint64, s string) []byte {
	b = binary.AppendUvarint(b, field<<3|bytesWire)
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// cutText reads what text wrote at the beginning of b.
func cutText(b []byte, field uint64) (s, rest []byte, ok bool) {
	tag, n := binary.Uvarint(b)
	if n <= 0 || tag != field<<3|bytesWire {
		return nil, nil, false
	}
	size, m := binary.Uvarint(b[n:])
	if b = b[n+max(m, 0):]; m <= 0 || size > uint64(len(b)) {
		return nil, nil, false
	}
	return b[:size], b[size:], true
}

// emptyMMDB is a database in which no address is found, by the MaxMind DB
// format 2.0: a tree of one node, both of whose records say so, the separator of
// 16 zero bytes, no data, and the metadata.
func emptyMMDB(databaseType string) []byte {
	const (
		mapType, stringType = 7, 2
		uint16Type          = 5
		uint32Type          = 6
		extended            = 7 // a type of 8 and above is written as this plus itself
		uint64Type          = 9
		arrayType           = 11
	)
	control := func(b []byte, kind, size int) []byte {
		if kind > extended {
			return append(b, byte(size), byte(kind-extended))
		}
		return append(b, byte(kind<<5|size))
	}
	str := func(b []byte, s string) []byte { return append(control(b, stringType, len(s)), s...) }

	b := append([]byte{0, 0, 1, 0, 0, 1}, make([]byte, 16)...) // records of 24 bits: the number of nodes is "not found"
	b = append(b, "\xab\xcd\xefMaxMind.com"...)
	b = control(b, mapType, 9)
	b = binary.BigEndian.AppendUint16(control(str(b, "binary_format_major_version"), uint16Type, 2), 2)
	b = control(str(b, "binary_format_minor_version"), uint16Type, 0)
	b = append(control(str(b, "build_epoch"), uint64Type, 1), 1)
	b = str(str(b, "database_type"), databaseType)
	b = control(str(b, "description"), mapType, 0)
	b = append(control(str(b, "ip_version"), uint16Type, 1), 6)
	b = control(str(b, "languages"), arrayType, 0)
	b = append(control(str(b, "node_count"), uint32Type, 1), 1)
	return append(control(str(b, "record_size"), uint16Type, 1), 24)
}
