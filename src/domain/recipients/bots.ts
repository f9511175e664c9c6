/** Who asks for pictures and links and is no person, as far as a request tells. The first rule that fits gives its name, those of the agent before those of the address. */

export type MachineRule = Readonly<{
  name: string;
  /** Part of the User-Agent, letter case aside. */
  agent?: RegExp;
  /** Networks in IPv4, as `address/bits`. */
  networks?: readonly string[];
}>;

/** Proxies that fetch pictures for their users, then the scanners of mail hosts, then whatever else says that it is a program. */
export const machineRules: readonly MachineRule[] = [
  { name: 'apple-mail-privacy', agent: /^Mozilla\/5\.0$/, networks: ['17.0.0.0/8'] },
  { name: 'gmail-image-proxy', agent: /GoogleImageProxy|ggpht\.com/i },
  { name: 'yahoo-image-proxy', agent: /YahooMailProxy|YahooCacheSystem/i },
  { name: 'duckduckgo-image-proxy', agent: /DuckDuckGo-Favicons-Bot|DDG-Image/i },
  { name: 'proton-image-proxy', agent: /ProtonMail|Proton-Image-Proxy/i },
  {
    name: 'microsoft-safe-links',
    agent: /SafeLinks|Microsoft Office (?:Existence|Protocol) Discovery|ms-office|MSOffice|SkypeUriPreview|BingPreview/i,
    networks: ['40.92.0.0/15', '40.94.0.0/16', '40.107.0.0/16', '52.100.0.0/14', '104.47.0.0/17'],
  },
  { name: 'barracuda', agent: /Barracuda/i, networks: ['64.235.144.0/20', '209.222.80.0/21'] },
  { name: 'proofpoint', agent: /Proofpoint|URLDefense/i, networks: ['67.231.144.0/20', '148.163.128.0/19', '208.84.64.0/22'] },
  { name: 'mimecast', agent: /Mimecast/i, networks: ['91.220.42.0/24', '195.130.217.0/24', '205.139.110.0/23', '207.211.30.0/23'] },
  { name: 'cisco-secure-email', agent: /IronPort|Cisco(?:-| )(?:Secure|AMP|Umbrella)/i },
  { name: 'trend-micro', agent: /Trend ?Micro|\bTMASE\b/i },
  { name: 'symantec', agent: /Symantec|MessageLabs|BrightMail/i },
  { name: 'sophos', agent: /Sophos/i },
  {
    name: 'other-scanner',
    agent: /Cloudmark|FireEye|Trellix|Fortinet|FortiMail|Forcepoint|Zscaler|Hornetsecurity|Spamhaus|VirusTotal|urlscan/i,
  },
  { name: 'link-preview', agent: /facebookexternalhit|Slackbot|Twitterbot|LinkedInBot|TelegramBot|WhatsApp|Discordbot|Iframely|Embedly/i },
  { name: 'headless-browser', agent: /HeadlessChrome|PhantomJS|Puppeteer|Playwright|Selenium/i },
  {
    name: 'program',
    agent: /^(?:curl|wget|python|ruby|java|perl|php|okhttp|axios|node|undici|go-http-client|libwww|lwp|apache-httpclient|guzzle)\b/i,
  },
  { name: 'crawler', agent: /bot\b|crawler|spider|scanner/i },
  { name: 'no-user-agent', agent: /^$/ },
];

type Network = Readonly<{ first: number; last: number }>;
type Compiled = Readonly<{ name: string; agent: RegExp | undefined; networks: readonly Network[] }>;

const IPV4 = /^(?:::ffff:)?(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/i;

/** undefined: not IPv4, as it is or inside IPv6. */
const numberOf = (address: string): number | undefined => {
  const parts = IPV4.exec(address);
  return parts === null ? undefined : parts.slice(1).reduce((sum, part) => sum * 256 + Number(part), 0);
};

const networkOf = (text: string): Network => {
  const [address = '', bits = ''] = text.split('/');
  const size = 2 ** (32 - Number(bits));
  const number = numberOf(address);
  if (number === undefined || number % size !== 0) throw new Error(`${text} is not a network`);
  return { first: number, last: number + size - 1 };
};

const compiled: readonly Compiled[] = machineRules.map(({ name, agent, networks = [] }) => ({
  name,
  agent,
  networks: networks.map(networkOf),
}));

/** Longer ones say nothing more, and are not kept. */
export const USER_AGENT_CHARS_MAX = 512;

/** Out: the name of the rule by which no person asked, as far as the User-Agent tells; undefined where none fits. */
export const machineOfAgent = (userAgent: string): string | undefined => {
  const agent = userAgent.trim().slice(0, USER_AGENT_CHARS_MAX);
  return compiled.find((rule) => rule.agent?.test(agent) === true)?.name;
};

/** The same by the address. */
export const machineOfAddress = (ipAddress: string): string | undefined => {
  const number = numberOf(ipAddress);
  if (number === undefined) return undefined;
  return compiled.find(({ networks }) => networks.some(({ first, last }) => number >= first && number <= last))?.name;
};
