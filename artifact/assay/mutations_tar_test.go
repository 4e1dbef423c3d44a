package assay

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

func tarMutations() []mutation {
	members := func(name, code string, change func([]forgedMember) []forgedMember) mutation {
		return mutation{"tar: " + name, code, code == accepted, func(f *forge) { f.members = change }}
	}
	header := func(name, code string, change func(h []byte)) mutation {
		return members(name, code, func(ms []forgedMember) []forgedMember { ms[1].edit(change); return ms })
	}
	archive := func(name, code string, change func([]byte) []byte) mutation {
		return mutation{"tar: " + name, code, code == accepted, func(f *forge) { f.archive = change }}
	}
	rename := func(name string) func(h []byte) {
		return func(h []byte) { copy(h[:100], append([]byte(name), make([]byte, 100)...)) }
	}
	size := func(text string) func(h []byte) { return func(h []byte) { copy(h[124:136], text) } }
	ms := []mutation{
		members("swapped", contractOrder, func(ms []forgedMember) []forgedMember { slices.Reverse(ms); return ms }),
		members("manifest alone", contractMissing, func(ms []forgedMember) []forgedMember { return ms[:1] }),
		members("events alone", contractOrder, func(ms []forgedMember) []forgedMember { return ms[1:] }),
		members("none", contractMissing, func([]forgedMember) []forgedMember { return nil }),
		members("second manifest", contractDuplicate, func(ms []forgedMember) []forgedMember { return append(ms, ms[0]) }),
		members("second events", contractDuplicate, func(ms []forgedMember) []forgedMember { return append(ms, ms[1]) }),
		members("manifest twice first", contractDuplicate, func(ms []forgedMember) []forgedMember { return []forgedMember{ms[0], ms[0], ms[1]} }),
		members("third member", contractUnexpected, func(ms []forgedMember) []forgedMember { return append(ms, newMember("README", "hello")) }),
		members("unexpected first", contractUnexpected, func(ms []forgedMember) []forgedMember {
			return append([]forgedMember{newMember("README", "hello")}, ms...)
		}),
		members("third member above", securityPathInvalid, func(ms []forgedMember) []forgedMember { return append(ms, newMember("../x", "")) }),
		members("third member with bad sum", integrityTar, func(ms []forgedMember) []forgedMember {
			m := newMember("README", "")
			m.header[0]++
			return append(ms, m)
		}),
		members("third member too big", limitFileSize, func(ms []forgedMember) []forgedMember {
			m := newMember("README", "")
			m.header = tarHeader("README", 500<<20+1)
			return append(ms, m)
		}),
		header("name from here", contractUnexpected, rename("./events.ndjson")),
		header("name above", securityPathInvalid, rename("../events.ndjson")),
		header("name above inside", securityPathInvalid, rename("a/../events.ndjson")),
		header("name above at the end", securityPathInvalid, rename("a/..")),
		header("name from the root", securityPathInvalid, rename("/events.ndjson")),
		header("name with three dots", contractUnexpected, rename("a/.../b")),
		header("name with two slashes", contractUnexpected, rename("a//b")),
		header("name empty", contractUnexpected, rename("")),
		header("name in capitals", contractUnexpected, rename("EVENTS.NDJSON")),
		header("name with backslash", contractUnexpected, rename(`..\events.ndjson`)),
		header("name of 100 bytes", contractUnexpected, rename(strings.Repeat("x", 100))),
		header("name not UTF-8", contractUnexpected, rename("\xffevents.ndjson")),
		header("name not UTF-8 above", securityPathInvalid, rename("\xff/../x")),
		header("name with a slash last", integrityTar, rename("events.ndjson/")),
		header("bytes after the name", accepted, func(h []byte) { copy(h[14:], "junk") }),
		header("type 0", accepted, func(h []byte) { h[156] = '0' }),
		header("type directory", integrityTar, func(h []byte) { h[156] = '5' }),
		header("type symlink", integrityTar, func(h []byte) { h[156] = '2' }),
		header("type contiguous", integrityTar, func(h []byte) { h[156] = '7' }),
		header("type PAX", integrityTar, func(h []byte) { h[156] = 'x' }),
		header("type PAX global", integrityTar, func(h []byte) { h[156] = 'g' }),
		header("type GNU long name", integrityTar, func(h []byte) { h[156] = 'L' }),
		header("type GNU sparse", integrityTar, func(h []byte) { h[156] = 'S' }),
		header("link name", integrityTar, func(h []byte) { h[157] = 'x' }),
		header("link name's last byte", integrityTar, func(h []byte) { h[256] = 'x' }),
		header("prefix", integrityTar, func(h []byte) { h[345] = 'x' }),
		header("last byte", integrityTar, func(h []byte) { h[511] = 1 }),
		header("device numbers", accepted, func(h []byte) { copy(h[329:345], "0000000\x000000000\x00") }),
		header("device's last byte", accepted, func(h []byte) { h[344] = 'x' }),
		header("mode", accepted, func(h []byte) { copy(h[100:], "junkjunk") }),
		header("owner", accepted, func(h []byte) { copy(h[108:], "\xff\xff\xff") }),
		header("time", accepted, func(h []byte) { copy(h[136:148], "14000000000\x00") }),
		header("user name", accepted, func(h []byte) { copy(h[265:], "root\x00") }),
		header("ustar magic", accepted, func(h []byte) { copy(h[257:], "ustar\x0000") }),
		header("no magic", accepted, func(h []byte) { copy(h[257:], make([]byte, 8)) }),
		header("size ended by a space", accepted, func(h []byte) { h[135] = ' ' }),
		header("size ended by a digit", integrityTar, func(h []byte) { h[135] = '0' }),
		header("size with spaces", integrityTar, func(h []byte) { copy(h[124:], "     ") }),
		header("size with an 8", integrityTar, size("00000000008\x00")),
		header("size in base 256", integrityTar, size("\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x04\x00")),
		header("size empty", integrityTar, size(strings.Repeat("\x00", 12))),
		header("size of the events less", integrityFileSize, func(h []byte) { copy(h[124:], "00000001000\x00") }),
		header("size at the limit", integrityFileSize, size(fmt.Sprintf("%011o\x00", 500<<20))),
		header("size past the limit", limitFileSize, size(fmt.Sprintf("%011o\x00", 500<<20+1))),
		header("size past the limit of a bad name", limitFileSize, func(h []byte) {
			rename("../x")(h)
			size("77777777777\x00")(h)
		}),
		members("manifest at the limit", accepted, func(ms []forgedMember) []forgedMember {
			ms[0] = newMember("manifest.json", string(ms[0].data)+strings.Repeat(" ", 10<<20-len(ms[0].data)))
			return ms
		}),
		members("manifest past the limit", limitFileSize, func(ms []forgedMember) []forgedMember {
			ms[0] = newMember("manifest.json", string(ms[0].data)+strings.Repeat(" ", 10<<20+1-len(ms[0].data)))
			return ms
		}),
		members("manifest cut", contractJSON, func(ms []forgedMember) []forgedMember {
			ms[0] = newMember("manifest.json", string(ms[0].data[:300]))
			return ms
		}),
		members("events empty", integrityFileSize, func(ms []forgedMember) []forgedMember { ms[1] = newMember("events.ndjson", ""); return ms }),
		members("padding not zero", accepted, func(ms []forgedMember) []forgedMember {
			n := len(ms[0].data)
			ms[0].data = append(ms[0].data, bytes.Repeat([]byte("x"), -n&(tarBlock-1))...)
			return ms
		}),
		members("padding of the last not zero", accepted, func(ms []forgedMember) []forgedMember {
			n := len(ms[1].data)
			ms[1].data = append(ms[1].data, bytes.Repeat([]byte("x"), -n&(tarBlock-1))...)
			return ms
		}),
		archive("no end", accepted, func(b []byte) []byte { return b[:len(b)-1024] }),
		archive("one end block", accepted, func(b []byte) []byte { return b[:len(b)-512] }),
		archive("one end block and a bit", accepted, func(b []byte) []byte { return b[:len(b)-500] }),
		archive("part of an end block", integrityTar, func(b []byte) []byte { return b[:len(b)-1000] }),
		archive("three end blocks", accepted, func(b []byte) []byte { return append(b, make([]byte, 512)...) }),
		archive("a byte of zero more", accepted, func(b []byte) []byte { return append(b, 0) }),
		archive("padding to 10240", accepted, func(b []byte) []byte { return append(b, make([]byte, -len(b)&10239+10240)...) }),
		archive("byte after the end", integrityTar, func(b []byte) []byte { return append(b, 1) }),
		archive("member after the end", integrityTar, func(b []byte) []byte { return append(b, b...) }),
		archive("second end block not zero", integrityTar, func(b []byte) []byte { b[len(b)-1] = 1; return b }),
		archive("first end block not zero", integrityTar, func(b []byte) []byte { b[len(b)-1024] = 1; return b }),
		archive("empty", contractMissing, func(b []byte) []byte { return nil }),
		archive("one byte", integrityTar, func(b []byte) []byte { return b[:1] }),
		archive("zeros", contractMissing, func(b []byte) []byte { return make([]byte, 5000) }),
		archive("cut in the first header", integrityTar, func(b []byte) []byte { return b[:511] }),
		archive("cut after the first header", contractJSON, func(b []byte) []byte { return b[:512] }),
		archive("cut in the padding of the manifest", integrityTar, func(b []byte) []byte { return b[:512+1023] }),
		archive("cut before the events", contractMissing, func(b []byte) []byte { return b[:512+1024] }),
		archive("cut after the events' header", integrityFileSize, func(b []byte) []byte { return b[:1024+1024] }),
		archive("cut in the events", contractJSON, func(b []byte) []byte { return b[:1024+1024+700] }),
		archive("cut in the padding of the events", integrityTar, func(b []byte) []byte { return b[:len(b)-1024-1] }),
		archive("zero block between", contractMissing, func(b []byte) []byte {
			return slices.Insert(b, bytes.Index(b, []byte("events.ndjson\x00")), make([]byte, tarBlock)...)
		}),
	}
	for _, sum := range []string{"0000000\x00", "        ", "\x00\x00\x00\x00\x00\x00\x00\x00", "99999999", "-012345\x00", "\xff\xff\xff\xff\xff\xff\xff\xff"} {
		ms = append(ms, members(fmt.Sprintf("checksum %q", sum), integrityTar, func(ms []forgedMember) []forgedMember { copy(ms[1].header[148:], sum); return ms }))
	}
	for name, form := range map[string]string{"GNU": "%06o\x00 ", "spaces": " %06o ", "plus": "+%06o\x00", "bare": "%08o", "white": "\t%06o\n", "two pluses": "++%05o\x00", "junk after": "%06o\x00x"} {
		code := accepted
		if name == "two pluses" {
			code = integrityTar
		}
		ms = append(ms, members("checksum "+name, code, func(ms []forgedMember) []forgedMember {
			sum := 8 * int(' ')
			for i, c := range ms[1].header {
				if i < 148 || i >= 156 {
					sum += int(c)
				}
			}
			copy(ms[1].header[148:156], fmt.Sprintf(form, sum))
			return ms
		}))
	}
	return ms
}

func gzipMutations() []mutation {
	header := func(name, code, h string) mutation {
		return mutation{"gzip: " + name, code, code == accepted, func(f *forge) { f.gzip = []byte(h) }}
	}
	file := func(name, code string, change func([]byte) []byte) mutation {
		return mutation{"gzip: " + name, code, false, func(f *forge) { f.file = change }}
	}
	const plain = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
	with := func(flags byte, rest string) string {
		return plain[:3] + string(rune(flags)) + plain[4:] + rest
	}
	return []mutation{
		{"gzip: stored", accepted, false, func(f *forge) { f.level = 0 }},
		{"gzip: fast", accepted, false, func(f *forge) { f.level = 1 }},
		{"gzip: refers to zeros before its beginning", accepted, false, func(f *forge) { f.dict = zeros[:] }},
		{"gzip: refers to other bytes before its beginning", integrityTar, false, func(f *forge) {
			f.dict = bytes.Repeat([]byte("manifest.json"), 2000)
		}},
		header("time", accepted, "\x1f\x8b\x08\x00\x01\x02\x03\x04\x02\xff"),
		header("system", accepted, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03"),
		header("extra flags", accepted, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"),
		header("text flag", accepted, with(1, "")),
		header("reserved flag 5", integrityTar, with(0x20, "")),
		header("reserved flag 6", integrityTar, with(0x40, "")),
		header("reserved flag 7", integrityTar, plain[:3]+"\x80"+plain[4:]),
		header("magic", integrityTar, "\x1f\x8c"+plain[2:]),
		header("method", integrityTar, "\x1f\x8b\x07"+plain[3:]),
		header("file name", accepted, with(8, "bundle.tar\x00")),
		header("file name of 600 bytes", accepted, with(8, strings.Repeat("n", 600)+"\x00")),
		header("file name at the limit", accepted, with(8, strings.Repeat("n", 65535)+"\x00")),
		header("file name past the limit", integrityTar, with(8, strings.Repeat("n", 65536)+"\x00")),
		header("comment at the limit", accepted, with(16, strings.Repeat("n", 65535)+"\x00")),
		header("comment past the limit", integrityTar, with(16, strings.Repeat("n", 65536)+"\x00")),
		header("extra field", accepted, with(4, "\x05\x00hello")),
		header("extra field empty", accepted, with(4, "\x00\x00")),
		header("extra field cut", integrityTar, with(4, "\xff\xff")),
		header("checksum", accepted, with(2, headerSum(with(2, "")))),
		header("checksum of everything", accepted, with(0x1f, "\x01\x00xname\x00comment\x00"+headerSum(with(0x1f, "\x01\x00xname\x00comment\x00")))),
		header("checksum wrong", integrityTar, with(2, "\x00\x00")),
		{"gzip: second member", integrityGzip, false, func(f *forge) { f.file = func(b []byte) []byte { return append(b, b...) } }},
		file("byte behind", integrityGzip, func(b []byte) []byte { return append(b, 0) }),
		file("checksum of the data", integrityGzip, func(b []byte) []byte { b[len(b)-8] ^= 1; return b }),
		file("size of the data", integrityGzip, func(b []byte) []byte { b[len(b)-1] ^= 1; return b }),
		file("trailer cut", integrityGzip, func(b []byte) []byte { return b[:len(b)-1] }),
		file("trailer missing", integrityGzip, func(b []byte) []byte { return b[:len(b)-8] }),
		file("empty file", integrityTar, func([]byte) []byte { return nil }),
		file("header alone", integrityTar, func(b []byte) []byte { return b[:10] }),
		file("header cut", integrityTar, func(b []byte) []byte { return b[:9] }),
		file("cut in the middle", integrityIO, func(b []byte) []byte { return b[:len(b)/2] }),
		file("not gzip", integrityTar, func([]byte) []byte { return []byte("PK\x03\x04 and so on, for long enough") }),
		{"gzip: bare tar", integrityTar, false, func(f *forge) {
			var bare []byte
			f.archive = func(b []byte) []byte { bare = b; return b }
			f.file = func([]byte) []byte { return bare }
		}},
		{"gzip: reserved block type", integrityTar, false, func(f *forge) { f.deflated = func(b []byte) []byte { b[0] |= 6; return b } }},
		{"gzip: empty block first", accepted, false, func(f *forge) {
			f.deflated = func(b []byte) []byte { return append([]byte("\x00\x00\x00\xff\xff"), b...) }
		}},
		{"gzip: byte between data and checksum", integrityGzip, false, func(f *forge) { f.deflated = func(b []byte) []byte { return append(b, 0) } }},
	}
}
