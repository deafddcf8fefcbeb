// The tools of the shop: one for each way to answer with more than fits.
import { OutputBudgetExceeded } from 'tidegate';

const items = Array.from({ length: 430 }, (_, index) => ({
  id: index + 1, product: { name: `Widget ${index + 1}` }, price: (index + 1) % 97,
}));
const text = (value) => ({ content: [{ type: 'text', text: value }] });

/** Registers the tools with a server of either SDK; returns the server. */
export function register(server, tidegate) {
  server.registerTool(tidegate.heavy('inventory.list_all', { style: 'probe' }),
    { description: 'List every item in stock' }, () => text(JSON.stringify(items)));
  server.registerTool(tidegate.heavy('sales_list', { style: 'contract', domain: 'sales' }),
    { description: 'List all sales' },
    () => text(JSON.stringify(items.map((item) => ({ id: `sale-${item.id}`, label: item.product.name })))));
  server.registerTool('export', { description: 'Export the stock as JSON lines' },
    () => text(Array(10).fill(items).flat().map((item) => JSON.stringify(item)).join('\n')));
  server.registerTool('report',
    { description: 'The stock in 1,000 tokens, or an error that says how to ask for less' }, async () => {
      try {
        return text(await tidegate.enforceBudget(JSON.stringify(items), 'report', 1000));
      } catch (over) {
        if (over instanceof OutputBudgetExceeded) return text(JSON.stringify(over.error));
        throw over;
      }
    });
  server.registerTool('count', { description: 'How many items there are' }, () => text(String(items.length)));
  return server;
}
