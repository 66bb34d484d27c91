package preset

// The ranges of tailnets.
var tailnet = []string{"100.64.0.0/10", "fd7a:115c:a1e0::/48"}

// magicDNS answers for names of the tailnet.
const magicDNS = "100.100.100.100"

// What presets of several clients say of themselves.
var (
	ntpDirect = recipe{
		id: "ntp-direct", category: network, on: true,
		title:  Text{"Time without proxy", "对时直连"},
		effect: Text{"Sends NTP, UDP to port 123, without a proxy.", "NTP(UDP 123 端口)流量不经过代理。"},
		risk:   Text{"Time servers see the address of the device.", "时间服务器会看到设备的真实地址。"},
		require: Text{
			"A rule for private networks, China or the rest, before which the new one stands.",
			"规则中要有私有网络、国内或兜底规则,新规则会放在其前面。",
		},
	}
	quicFallback = recipe{
		id: "quic-fallback", category: network,
		title:  Text{"No QUIC", "禁用 QUIC"},
		effect: Text{"Refuses QUIC, so that browsers fall back to TCP, which many nodes carry better.", "拒绝 QUIC,让浏览器退回 TCP,很多节点对 TCP 支持更好。"},
		risk:   Text{"Applications that know nothing but QUIC do not connect.", "只支持 QUIC 的应用将无法连接。"},
		require: Text{
			"A rule for private networks, China or the rest, before which the new one stands.",
			"规则中要有私有网络、国内或兜底规则,新规则会放在其前面。",
		},
	}
	udpP2P = recipe{
		id: "udp-p2p-eim", category: network,
		title:   Text{"Peer-to-peer over UDP", "UDP 点对点"},
		effect:  Text{"Maps UDP in the TUN independent of the endpoint, which games and calls need to reach each other.", "TUN 的 UDP 采用端点无关映射,便于游戏与通话互相直连。"},
		risk:    Text{"Somewhat slower, and more open to packets from outside.", "性能略有下降,并且更容易收到外部数据包。"},
		require: Text{"A TUN.", "已启用 TUN。"},
	}
	linuxTUN = recipe{
		id: "linux-tun-acceleration", category: platform,
		title:   Text{"Faster TUN on Linux", "Linux TUN 加速"},
		effect:  Text{"Redirects TCP with nftables instead of through the TUN.", "TCP 由 nftables 重定向,不再逐包经过 TUN。"},
		risk:    Text{"The client does not start on other systems, nor where nftables are missing.", "其他系统或缺少 nftables 的环境下客户端无法启动。"},
		require: Text{"Linux with nftables, and root.", "带 nftables 的 Linux 与 root 权限。"},
	}
	windowsRoute = recipe{
		id: "windows-relaxed-route", category: platform,
		title:   Text{"Relaxed routes on Windows", "Windows 宽松路由"},
		effect:  Text{"Switches strict routing of the TUN off, with which some virtual machines and VPNs do not get along.", "关闭 TUN 的严格路由,避免与部分虚拟机、VPN 冲突。"},
		risk:    Text{"DNS queries may leave past the TUN.", "DNS 查询可能绕过 TUN 泄漏。"},
		require: Text{"A TUN, on Windows.", "Windows 且已启用 TUN。"},
	}
	nativeTailscale = recipe{
		id: "tailscale-native", category: tailscale, against: []string{"tailscale-external"}, keyed: true,
		title:   Text{"Tailscale in the client", "客户端内置 Tailscale"},
		effect:  Text{"The client joins the tailnet itself; tailnet addresses and names go there.", "客户端自身加入 tailnet,相应地址与域名经由它访问。"},
		risk:    Text{"An auth key stands in the file in clear text. IPv6 addresses of the tailnet stay outside a TUN that leaves out fc00::/7.", "认证密钥以明文写在文件中。若 TUN 排除了 fc00::/7,tailnet 的 IPv6 地址不会进入 TUN。"},
		require: Text{"A build of the client with Tailscale, and a tailnet.", "客户端构建包含 Tailscale,并拥有 tailnet。"},
	}
	externalTailscale = recipe{
		id: "tailscale-external", category: tailscale, against: []string{"tailscale-native"},
		title:   Text{"Tailscale beside the client", "与 Tailscale 并存"},
		effect:  Text{"Leaves tailnet addresses to the Tailscale program on the device, and asks MagicDNS for its names.", "tailnet 地址交给设备上的 Tailscale 程序处理,其域名由 MagicDNS 解析。"},
		risk:    Text{"Without the Tailscale program those names do not resolve.", "若 Tailscale 未运行,相关域名将无法解析。"},
		require: Text{"The Tailscale program, running on the device.", "设备上正在运行 Tailscale。"},
	}
)

// with returns a copy of a recipe that was changed.
func (r recipe) with(change func(r *recipe)) recipe {
	change(&r)
	return r
}

func (c *client) mihomoRecipes() []recipe {
	tailnetDNS := script{"append": map[string]any{"dns.fake-ip-filter": []string{"+.ts.net"}}, "policy": map[string]any{"+.ts.net": magicDNS}}
	list := []recipe{
		ntpDirect.with(func(r *recipe) {
			r.script = script{"rules": []string{"AND,((NETWORK,UDP),(DST-PORT,123)),DIRECT"}}
		}),
		{
			id: "sniffer", category: network, on: true,
			title:  Text{"Sniffer", "域名嗅探"},
			effect: Text{"Reads the host name out of HTTP, TLS and QUIC, so that domain rules hold for connections by address too.", "从 HTTP、TLS、QUIC 中读取域名,使按地址发起的连接也能匹配域名规则。"},
			risk:   Text{"Replaces the sniffer settings of the file. The name that was read becomes the destination.", "会覆盖文件中的嗅探设置,并以嗅探到的域名作为目标。"},
			override: `sniffer!:
  enable: true
  force-dns-mapping: true
  parse-pure-ip: true
  override-destination: true
  skip-domain:
    - Mijia Cloud
    - dlg.io.mi.com
    - +.push.apple.com
  sniff:
    HTTP:
      ports: [80, 8080-8880]
    TLS:
      ports: [443, 8443]
    QUIC:
      ports: [443, 8443]
`,
		},
		{
			id: "tun", category: platform, on: true,
			title:   Text{"TUN", "TUN"},
			effect:  Text{"Takes in the traffic of all programs, and answers their DNS queries.", "接管所有程序的流量,并应答它们的 DNS 查询。"},
			risk:    Text{"Replaces the TUN settings of the file, and changes the routes of the system while the client runs.", "会覆盖文件中的 TUN 设置,并在客户端运行期间修改系统路由。"},
			require: Text{"Permission to create a network interface.", "创建网络接口的权限。"},
			override: `tun!:
  enable: true
  stack: mixed
  auto-route: true
  strict-route: true
  auto-detect-interface: true
  dns-hijack:
    - any:53
    - tcp://any:53
  route-exclude-address:
    - 10.0.0.0/8
    - 172.16.0.0/12
    - 192.168.0.0/16
    - 169.254.0.0/16
    - fe80::/10
    - fc00::/7
    - 224.0.0.251/32
    - ff02::fb/128
`,
		},
		{
			id: "fake-ip-compat", category: network,
			title:   Text{"Real addresses where fake ones hurt", "Fake-IP 兼容名单"},
			effect:  Text{"Lets time servers, system updates, music, banking and remote control have real addresses instead of fake ones.", "对时、系统更新、音乐、银行与远程控制等域名返回真实地址而非 Fake-IP。"},
			risk:    Text{"These names are resolved before it is known where they go.", "这些域名会在分流之前先行解析。"},
			require: Text{"DNS in fake-ip mode with a blacklist.", "DNS 使用 fake-ip 模式且名单为黑名单。"},
			script:  script{"append": map[string]any{"dns.fake-ip-filter": fakeIPCompat}},
		},
		quicFallback.with(func(r *recipe) {
			r.script = script{"rules": []string{"AND,((NETWORK,UDP),(DST-PORT,443)),REJECT"}}
		}),
		udpP2P.with(func(r *recipe) {
			r.behind = []string{"tun"}
			r.override = "tun:\n  endpoint-independent-nat: true\n"
		}),
		linuxTUN.with(func(r *recipe) {
			r.needs = []string{"tun"}
			r.override = "tun:\n  auto-route: true\n  auto-redirect: true\nfind-process-mode: strict\n"
		}),
		windowsRoute.with(func(r *recipe) {
			r.behind = []string{"tun"}
			r.override = "tun:\n  strict-route: false\n"
		}),
	}
	if c.from("1.19") { // it came in the course of 1.19
		list = append(list, nativeTailscale.with(func(r *recipe) {
			r.needs = []string{"tun"}
			r.script = script{
				"proxy":  map[string]any{"name": "TAILSCALE", "type": "tailscale", "ephemeral": false, "udp": true, "accept-routes": false},
				"append": tailnetDNS["append"], "policy": tailnetDNS["policy"],
				"remove": map[string]any{"tun.route-exclude-address": tailnet},
				"rules": []string{
					"DOMAIN-SUFFIX,ts.net,TAILSCALE", "IP-CIDR,100.64.0.0/10,TAILSCALE,no-resolve", "IP-CIDR6,fd7a:115c:a1e0::/48,TAILSCALE,no-resolve",
				},
			}
		}))
	}
	external := externalTailscale.with(func(r *recipe) {
		r.needs = []string{"tun"}
		r.script = script{
			"append": map[string]any{"dns.fake-ip-filter": []string{"+.ts.net"}, "tun.route-exclude-address": tailnet},
			"policy": tailnetDNS["policy"],
		}
	})
	if !c.from("1.19") {
		external.against = nil // there is no other way
	}
	return append(list, external, recipe{
		id: "tailnet-share", category: tailscale, needs: []string{"tun", "tailscale-external"},
		title:   Text{"Share with the tailnet", "共享给 tailnet"},
		effect:  Text{"Lets devices of the tailnet use the proxy ports of this one.", "允许 tailnet 中的设备使用本机的代理端口。"},
		risk:    Text{"Everyone in the tailnet can use the proxy.", "tailnet 中的任何人都能使用该代理。"},
		require: Text{"allow-lan, and the Tailscale program on the device.", "已开启 allow-lan,且设备上运行 Tailscale。"},
		script:  script{"append": map[string]any{"lan-allowed-ips": tailnet}},
	})
}

// fakeIPCompat are hosts and narrow suffixes; a broad one such as qq.com would
// take whole services out of the fake addresses.
var fakeIPCompat = []string{
	"time.windows.com", "time.nist.gov", "time.apple.com", "time.asia.apple.com", "ntp.ubuntu.com", "ntp.aliyun.com", "+.pool.ntp.org",
	"mesu.apple.com", "swscan.apple.com", "swcdn.apple.com", "swdownload.apple.com",
	"music.163.com", "*.music.163.com", "y.qq.com", "*.y.qq.com", "streamoc.music.tc.qq.com", "mobileoc.music.tc.qq.com",
	"isure.stream.qqmusic.qq.com", "dl.stream.qqmusic.qq.com", "music.migu.cn", "*.music.migu.cn",
	"localhost.ptlogin2.qq.com", "localhost.sec.qq.com", "localhost.work.weixin.qq.com",
	"+.cmbchina.com", "+.cmbimg.com",
	"+.sandai.net",
	"+.oray.com", "+.todesk.com", "+.teamviewer.com",
}

func (c *client) singboxRecipes() []recipe {
	list := []recipe{
		{
			id: "sniff", category: network, on: true,
			title:   Text{"Sniffing and DNS", "嗅探与 DNS 接管"},
			effect:  Text{"Reads the protocol and host name of connections before the other rules, and answers DNS queries itself.", "在其他规则之前识别协议与域名,并自行应答 DNS 查询。"},
			risk:    Text{"Programs that ask a DNS server of their own get the answers of the client.", "自带 DNS 服务器的程序也会得到客户端的解析结果。"},
			require: Text{"DNS settings in the file.", "文件中已配置 DNS。"},
			script: script{"first": []any{
				map[string]any{"action": "sniff"},
				map[string]any{
					"type": "logical", "mode": "or", "action": "hijack-dns",
					"rules": []any{map[string]any{"protocol": "dns"}, map[string]any{"port": 53}},
				},
			}},
		},
		ntpDirect.with(func(r *recipe) {
			r.script = script{"rules": []any{map[string]any{"network": "udp", "port": 123, "outbound": "direct"}}}
		}),
		quicFallback.with(func(r *recipe) {
			r.needs = []string{"sniff"}
			r.script = script{"rules": []any{map[string]any{"protocol": "quic", "action": "reject"}}}
		}),
		udpP2P.with(func(r *recipe) {
			r.require = oneTUN
			r.script = script{"tun": map[string]any{"endpoint_independent_nat": true}}
		}),
		linuxTUN.with(func(r *recipe) {
			r.require = Text{"Linux with nftables, and root. " + oneTUN.English, "带 nftables 的 Linux 与 root 权限。" + oneTUN.Chinese}
			r.script = script{"tun": map[string]any{"auto_route": true, "auto_redirect": true}}
		}),
		windowsRoute.with(func(r *recipe) {
			r.require = Text{"Windows. " + oneTUN.English, "Windows。" + oneTUN.Chinese}
			r.script = script{"tun": map[string]any{"strict_route": false}}
		}),
	}
	external := externalTailscale.with(func(r *recipe) {
		r.require = Text{"The Tailscale program, running on the device. " + oneTUN.English, "设备上正在运行 Tailscale。" + oneTUN.Chinese}
		// Until 1.12 a server is reached the way of the final rule unless it says
		// otherwise.
		server := map[string]any{"tag": "ts-dns", "address": "udp://" + magicDNS, "detour": "direct"}
		if c.from("1.12") {
			server = map[string]any{"type": "udp", "tag": "ts-dns", "server": magicDNS}
		}
		r.script = script{
			"exclude":    tailnet,
			"dns_server": server,
			"dns_rule":   map[string]any{"domain_suffix": []string{"ts.net"}, "server": "ts-dns"},
		}
	})
	if !c.from("1.13") { // no rule by what an endpoint prefers, and no MPTCP in a TUN
		external.against = nil
		return append(list, external)
	}
	return append(list,
		recipe{
			id: "mptcp-direct", category: platform, needs: []string{"linux-tun-acceleration"},
			title:   Text{"MPTCP without proxy", "MPTCP 直连"},
			effect:  Text{"Lets Multipath TCP connections pass beside the TUN, which cannot carry them.", "多路径 TCP 连接绕过 TUN 直连,因为 TUN 无法承载它们。"},
			risk:    Text{"Those connections do not use a proxy, whatever the rules say.", "无论规则如何,这些连接都不经过代理。"},
			require: Text{"Linux with nftables. " + oneTUN.English, "带 nftables 的 Linux。" + oneTUN.Chinese},
			script:  script{"tun": map[string]any{"exclude_mptcp": true}},
		},
		nativeTailscale.with(func(r *recipe) {
			r.require = Text{"A build of the client with Tailscale, and a tailnet. " + oneTUN.English, "客户端构建包含 Tailscale,并拥有 tailnet。" + oneTUN.Chinese}
			dns := map[string]any{"ip_accept_any": true, "server": "ts-dns"}
			if c.from("1.14") { // where asking first and looking at the answer is on its way out
				dns = map[string]any{"preferred_by": []string{"ts-dns"}, "action": "route", "server": "ts-dns"}
			}
			r.script = script{
				"include":    tailnet,
				"endpoint":   map[string]any{"type": "tailscale", "tag": "ts-ep", "ephemeral": false, "accept_routes": false},
				"dns_server": map[string]any{"type": "tailscale", "tag": "ts-dns", "endpoint": "ts-ep", "accept_default_resolvers": false},
				"dns_rule":   dns,
				"rules":      []any{map[string]any{"preferred_by": []string{"ts-ep"}, "action": "route", "outbound": "ts-ep"}},
			}
		}),
		external)
}

var oneTUN = Text{"A TUN inbound, tun-in or the only one.", "存在名为 tun-in 或唯一的 TUN 入站。"}

func (c *client) shadowrocketRecipes() []recipe {
	return []recipe{
		ntpDirect.with(func(r *recipe) {
			r.script = script{"rules": []string{"AND,((PROTOCOL,UDP),(DST-PORT,123)),DIRECT"}}
		}),
		nativeTailscale.with(func(r *recipe) {
			r.keyed = false
			r.effect = Text{"Sends tailnet addresses and names to the Tailscale of the app.", "tailnet 的地址与域名交给应用内的 Tailscale。"}
			r.risk = Text{"They do not connect while Tailscale is not set up in the app.", "应用内未配置 Tailscale 时无法连接。"}
			r.require = Text{"Tailscale, set up in the app, and a section of rules.", "已在应用内配置 Tailscale,且文件有规则段。"}
			r.script = script{"first": []string{
				"DOMAIN-SUFFIX,ts.net,TAILSCALE", "IP-CIDR,100.64.0.0/10,TAILSCALE,no-resolve", "IP-CIDR,fd7a:115c:a1e0::/48,TAILSCALE,no-resolve",
			}}
		}),
		externalTailscale.with(func(r *recipe) {
			r.effect = Text{"Leaves tailnet addresses to the Tailscale app, beside the tunnel and without a proxy.", "tailnet 地址交给 Tailscale 应用,不进入隧道也不经过代理。"}
			r.risk = Text{"Without the Tailscale app those addresses are not reached.", "若 Tailscale 应用未运行,相关地址无法访问。"}
			r.require = Text{"One section [General], and one of rules.", "文件中恰有一个 [General] 段,并有规则段。"}
			r.script = script{
				"append": map[string]any{"skip-proxy": tailnet, "tun-excluded-routes": tailnet},
				"first": []string{
					"DOMAIN-SUFFIX,ts.net,DIRECT", "IP-CIDR,100.64.0.0/10,DIRECT,no-resolve", "IP-CIDR,fd7a:115c:a1e0::/48,DIRECT,no-resolve",
				},
			}
		}),
	}
}
