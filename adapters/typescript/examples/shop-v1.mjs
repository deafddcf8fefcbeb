// The shop with the first official SDK, `@modelcontextprotocol/sdk`.
//
//     node shop-v1.mjs        on stdin and stdout
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { register } from './stock.mjs';
import { Tidegate } from 'tidegate';

const tidegate = new Tidegate({ server: 'shop' });
const server = register(new McpServer({ name: 'shop', version: '1.0.0' }), tidegate);
await tidegate.wrap(server).connect(new StdioServerTransport());
